// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/count_test.h"

#include <algorithm>

#include "profile/significance/distributions.h"

namespace memprof::profile {

double count_test(double a, double b) {
  const double more = std::max(a, b);
  const double less = std::max(0.0, std::min(a, b));
  if (!(more > less)) return 1;
  // P(X >= more) of more + less throws of a coin.
  return std::min(1.0, 2 * binomial_tail(more, more + less, 0.5));
}

}  // namespace memprof::profile
