// SPDX-License-Identifier: Apache-2.0
// The limits of a comparison as a JUnit report: each is a test case.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "profile/compare/comparison_limits.h"

namespace memprof::profile {

// `text`: the comparison, for the report's output.
std::string comparison_junit(const std::vector<LimitResult>& limits, const std::string& text);

}  // namespace memprof::profile
