// SPDX-License-Identifier: Apache-2.0
// memprof live: looks at a running process from outside.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int live_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
