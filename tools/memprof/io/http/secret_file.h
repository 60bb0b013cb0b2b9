// SPDX-License-Identifier: Apache-2.0
// Files that a user names in options: tokens, passwords, certificates.
//
// Threads: no state.
// Failure: throws Failure "OPTION: PATH: why".
#pragma once

#include <string>

namespace memprof::cli {

std::string read_text_file(const std::string& option, const std::string& path);

// The first line, which must have something in it, and nothing that could end a line of HTTP.
std::string read_secret(const std::string& option, const std::string& path);

}  // namespace memprof::cli
