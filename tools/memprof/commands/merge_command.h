// SPDX-License-Identifier: Apache-2.0
// `memprof merge`: the sum of any number of profiles, one file in memory at a time.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int merge_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
