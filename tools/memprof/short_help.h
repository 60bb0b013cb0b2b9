// SPDX-License-Identifier: Apache-2.0
// `memprof` and `memprof -h`: what one needs first, on one screen.
#pragma once

#include <string>

namespace memprof::cli {

// Of a command what `memprof COMMAND -h` prints; "" as a command: of memprof.  Empty: there is none of that name.
std::string short_help(const std::string& command);

}  // namespace memprof::cli
