// SPDX-License-Identifier: Apache-2.0
// `memprof leaks`
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// 0: no suspect, or none over a limit; 1: there is one.
int leaks_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
