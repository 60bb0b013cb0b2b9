// SPDX-License-Identifier: Apache-2.0
// Facts of a comparison as a whole: the files of both sides, the metric, and warnings for the reader.
// No rows.
//
// Threads: no state.
#pragma once

#include <optional>
#include <vector>

#include "profile/compare/comparison.h"

namespace memprof::profile {

// A comparison without rows.  Throws Error where the files have no metric in common, or not `metric`.
Comparison comparison_facts(const std::vector<ComparedProfile>& before,
                            const std::vector<ComparedProfile>& after, std::optional<Metric> metric);

}  // namespace memprof::profile
