// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/benjamini_hochberg.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace memprof::profile {

std::vector<double> benjamini_hochberg(const std::vector<double>& p_values) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> corrected(p_values.size());
  const auto count = static_cast<double>(p_values.size());
  double min = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    min = std::min(min, p_values[order[rank - 1]] * count / static_cast<double>(rank));
    corrected[order[rank - 1]] = min;
  }
  return corrected;
}

}  // namespace memprof::profile
