// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/slope.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

namespace memprof::profile {
namespace {

using Policy = boost::math::policies::policy<
    boost::math::policies::promote_double<false>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

}  // namespace

std::optional<Slope> slope_of(const std::vector<Look>& looks) {
  constexpr size_t kFewest = 3;
  if (looks.size() < kFewest) return std::nullopt;
  const size_t count = std::max(kFewest, (looks.size() + 1) / 2);
  const size_t first = looks.size() - count;
  const auto n = static_cast<double>(count);
  double mean_time = 0;
  double mean_bytes = 0;
  for (size_t i = first; i < looks.size(); ++i) {
    mean_time += looks[i].minutes / n;
    mean_bytes += looks[i].bytes / n;
  }
  double squares = 0;
  double products = 0;
  for (size_t i = first; i < looks.size(); ++i) {
    squares += std::pow(looks[i].minutes - mean_time, 2);
    products += (looks[i].minutes - mean_time) * (looks[i].bytes - mean_bytes);
  }
  if (!(squares > 0)) return std::nullopt;
  Slope slope;
  slope.bytes_per_minute = products / squares;
  double residuals = 0;
  for (size_t i = first; i < looks.size(); ++i) {
    const double on_line = mean_bytes + slope.bytes_per_minute * (looks[i].minutes - mean_time);
    residuals += std::pow(looks[i].bytes - on_line, 2);
  }
  const double free = n - 2;
  const double deviation = std::sqrt(residuals / free / squares);
  constexpr double kAlpha = 0.05;
  const double share = boost::math::ibeta_inv(free / 2, 0.5, kAlpha, Policy());
  const double width = std::sqrt(free * (1 - share) / share) * deviation;
  slope.low = slope.bytes_per_minute - width;
  slope.high = slope.bytes_per_minute + width;
  if (slope.bytes_per_minute > 0) {
    const double t = deviation > 0 ? slope.bytes_per_minute / deviation : 0;
    // Of one side.
    slope.p_value =
        deviation > 0 ? boost::math::ibeta(free / 2, 0.5, free / (free + t * t), Policy()) / 2 : 0;
  }
  return slope;
}

}  // namespace memprof::profile
