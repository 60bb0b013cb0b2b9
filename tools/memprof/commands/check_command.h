// SPDX-License-Identifier: Apache-2.0
// `memprof check`: whether a program keeps the limits of memprof.toml.
//
// Failure: throws Failure and profile::Error.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int check_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
