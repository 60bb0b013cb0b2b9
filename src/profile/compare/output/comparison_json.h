// SPDX-License-Identifier: Apache-2.0
// A comparison as JSON, for programs.  docs/diff.md describes it.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "profile/compare/comparison_limits.h"

namespace memprof::profile {

std::string comparison_json(const Comparison& comparison, const std::vector<LimitResult>& limits,
                            size_t max_rows);

}  // namespace memprof::profile
