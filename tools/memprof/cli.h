// SPDX-License-Identifier: Apache-2.0
// The `memprof` program: finds the command, runs it, and turns whatever went wrong into one line and a
// status.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// `arguments` without the program's own name.  Returns the exit status.
int cli_main(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
