// SPDX-License-Identifier: Apache-2.0
// A comparison as Markdown, short enough for a comment on a pull request: the totals, the largest rows, and a
// line for the rest.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>

#include "profile/compare/comparison.h"
#include "profile/compare/comparison_limits.h"

namespace memprof::profile {

// `max_rows`: of each table.  `limits`: what was asked with --fail-on.
std::string comparison_markdown(const Comparison& comparison, const std::vector<LimitResult>& limits,
                                size_t max_rows);

}  // namespace memprof::profile
