// SPDX-License-Identifier: Apache-2.0
// What is more than chance between two profiles, for the page of a difference: the functions that `memprof
// diff` lists, for each metric.
//
// Threads: no state.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "profile/compare/comparison.h"

namespace memprof::profile {

// By the name of the metric: {"is_tested", "rows": [{"name", "file", "module", "low", "high"}]}; low and high
// are null for rows beyond the largest.
nlohmann::ordered_json page_changes(const std::vector<ComparedProfile>& before,
                                    const std::vector<ComparedProfile>& after);

}  // namespace memprof::profile
