// SPDX-License-Identifier: Apache-2.0
// memprof doctor: what would stop memprof here, for a program, or in a process that runs.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int doctor_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
