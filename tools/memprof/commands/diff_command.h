// SPDX-License-Identifier: Apache-2.0
// `memprof diff`: what grew and what shrank between two profiles, or two groups of them, and whether that is
// more than chance.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

// 1: a limit is exceeded.
int diff_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
