// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/count_test.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>

namespace memprof::profile {

double count_test(double a, double b) {
  const double more = std::max(a, b);
  const double less = std::max(0.0, std::min(a, b));
  if (!(more > less)) return 1;
  // Boost's defaults may throw and use long double; neither is wanted.
  using CountPolicy = boost::math::policies::policy<
      boost::math::policies::promote_double<false>,
      boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
      boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;
  // P(X >= more) of more + less throws of a coin.
  return std::min(1.0, 2 * boost::math::ibeta(more, less + 1, 0.5, CountPolicy()));
}

}  // namespace memprof::profile
