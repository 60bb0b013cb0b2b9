// SPDX-License-Identifier: Apache-2.0
// `memprof attach`: starts memprof in a process that runs already.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int attach_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
