// SPDX-License-Identifier: Apache-2.0
// memprof ship: sends what the processes of this machine allocate and hold to a service that collects profiles.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int ship_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
