// SPDX-License-Identifier: Apache-2.0
// `memprof run`: runs a program with libmemprof.so preloaded, and makes a named profile of what that wrote.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// Returns the program's exit status, 128 + N for signal N.
int run_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
