// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/distributions.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace memprof::profile {
namespace {

// Boost's defaults may throw and use long double; neither is wanted.
using Policy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

}  // namespace

double student_tails(double t_squared, double free) {
  return boost::math::ibeta(free / 2, 0.5, free / (free + t_squared), Policy());
}

double student_quantile(double free, double probability) {
  const double share = boost::math::ibeta_inv(free / 2, 0.5, probability, Policy());
  return std::sqrt(free * (1 - share) / share);
}

double binomial_tail(double count, double n, double p) {
  if (!(count > 0)) return 1;
  return boost::math::ibeta(count, std::max(n - count, 0.0) + 1, p, Policy());
}

double poisson_head(double count, double expected) {
  return expected > 0 ? boost::math::gamma_q(count + 1, expected, Policy()) : 1;
}

PoissonInterval poisson_interval(double count) {
  return {count > 0 ? boost::math::gamma_p_inv(count, 0.025, Policy()) : 0,
          boost::math::gamma_p_inv(count + 1, 0.975, Policy())};
}

}  // namespace memprof::profile
