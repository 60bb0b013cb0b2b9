// SPDX-License-Identifier: Apache-2.0
// `memprof churn`: what a program allocates and frees again soon after, and what can be done about it.
//
// Failure: throws Failure or profile::Error.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int churn_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
