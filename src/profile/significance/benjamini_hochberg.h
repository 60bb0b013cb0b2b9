// SPDX-License-Identifier: Apache-2.0
// Corrects p-values for their number, after Benjamini and Hochberg (1995).
//
// Model: of the tests whose corrected p-value is at most q, at most the share q is false alarms, on average
// (the false discovery rate).  Where nothing changed at all, the probability of any false alarm is at most q.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace memprof::profile {

// Returns the corrected values, in the order of `p_values`.
std::vector<double> benjamini_hochberg(const std::vector<double>& p_values);

// Calls use(row, its corrected value) for each row of which p_of(row), an optional number, is one.
template <typename Row, typename PValueOf, typename Use>
void correct_each(std::vector<Row>* rows, const PValueOf& p_of, const Use& use) {
  std::vector<double> p_values;
  for (const Row& row : *rows) {
    if (const std::optional<double> p = p_of(row)) p_values.push_back(*p);
  }
  const std::vector<double> corrected = benjamini_hochberg(p_values);
  size_t next = 0;
  for (Row& row : *rows) {
    if (p_of(row)) use(&row, corrected[next++]);
  }
}

}  // namespace memprof::profile
