// SPDX-License-Identifier: Apache-2.0
// memprof fleet: what many hosts hold, out of a folder that memprof ship writes to.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int fleet_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
