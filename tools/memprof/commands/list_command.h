// SPDX-License-Identifier: Apache-2.0
// memprof list and memprof clean: the files that processes share their data by, and what is left of dead
// ones.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int list_command(const std::vector<std::string>& arguments);
int clean_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
