// SPDX-License-Identifier: Apache-2.0
#include "profile/significance/spread_test.h"

#include <algorithm>
#include <cmath>

#include "profile/significance/distributions.h"

namespace memprof::profile {
namespace {

double mean(const Sample& sample) {
  return sample.sum / sample.count;
}

// Of one value.  What is rounding in the sums is no spread.
double variance(const Sample& sample) {
  constexpr double kRounding = 1e-12;
  const double sum = sample.squares - sample.sum * sample.sum / sample.count;
  return sum <= kRounding * sample.squares ? 0 : sum / (sample.count - 1);
}

double square(double x) {
  return x * x;
}

// Of a difference whose square is t_squared times its variance.
SpreadTest student(double t_squared, double free, double variance) {
  SpreadTest test;
  if (!(t_squared >= 0)) return test;  // no number: a file says nonsense
  test.p_value = student_tails(t_squared, free);
  test.half_width = student_quantile(free) * std::sqrt(variance);
  return test;
}

SpreadTest welch(const Sample& a, const Sample& b) {
  double variance_a = a.count > 1 ? variance(a) : 0;
  double variance_b = b.count > 1 ? variance(b) : 0;
  if (a.count <= 1) variance_a = variance_b;
  if (b.count <= 1) variance_b = variance_a;
  const double of_a = variance_a / a.count;
  const double of_b = variance_b / b.count;
  const double difference = mean(b) - mean(a);
  if (!(of_a + of_b > 0)) return {difference == 0 ? 1.0 : 0.0, 0};
  // One variance that stands for both is as free as itself.
  const double free =
      a.count <= 1   ? b.count - 1
      : b.count <= 1 ? a.count - 1
                     : square(of_a + of_b) / (square(of_a) / (a.count - 1) + square(of_b) / (b.count - 1));
  return student(square(difference) / (of_a + of_b), free, of_a + of_b);
}

}  // namespace

SpreadTest spread_test(const Sample& a, const Sample& b) {
  if (!(a.sampling_variance > 0) || !(b.sampling_variance > 0)) return welch(a, b);
  const double free = a.count + b.count - 2;
  const double factor = ((a.count > 1 ? (a.count - 1) * variance(a) / a.sampling_variance : 0) +
                         (b.count > 1 ? (b.count - 1) * variance(b) / b.sampling_variance : 0)) /
                        free;
  if (factor <= 1) return {0, 0};
  const double of_both = factor * (a.sampling_variance / a.count + b.sampling_variance / b.count);
  return student(square(mean(b) - mean(a)) / of_both, free, of_both);
}

}  // namespace memprof::profile
