// SPDX-License-Identifier: Apache-2.0
// Corrects p-values for their number, after Benjamini and Hochberg (1995).
//
// Model: of those whose corrected value is at most q, on average no more than the share q is there by chance;
// where nothing changed at all, there is one at all with probability q at most.
//
// Threads: no state.
#pragma once

#include <vector>

namespace memprof::profile {

// In the order given.
std::vector<double> benjamini_hochberg(const std::vector<double>& p_values);

}  // namespace memprof::profile
