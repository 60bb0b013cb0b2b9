// SPDX-License-Identifier: Apache-2.0
// Corrects p-values for their number, after Benjamini and Hochberg (1995).
//
// Model: of the tests whose corrected p-value is at most q, at most the share q is false alarms, on average
// (the false discovery rate).  Where nothing changed at all, the probability of any false alarm is at most q.
//
// Threads: no state.
#pragma once

#include <vector>

namespace memprof::profile {

// Returns the corrected values, in the order of `p_values`.
std::vector<double> benjamini_hochberg(const std::vector<double>& p_values);

}  // namespace memprof::profile
