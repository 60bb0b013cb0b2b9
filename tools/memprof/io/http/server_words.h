// SPDX-License-Identifier: Apache-2.0
// What a server says in an answer that is no success, for messages.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::cli {

// ": WORDS": the "message" of JSON, else the first line, at most 160 bytes of it; "" where there is nothing.
std::string server_words(const std::string& body);

}  // namespace memprof::cli
