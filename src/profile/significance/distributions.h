// SPDX-License-Identifier: Apache-2.0
// Tails and quantiles of distributions, by Boost.Math, which is compiled here alone: each source that used it itself
// took three to eight seconds longer.
//
// Arguments need not be whole numbers.  Nothing throws: where there is no answer it is no number.
//
// Threads: no state.
#pragma once

namespace memprof::profile {

// Student's distribution with `free` degrees of freedom: of a value so far from 0, or farther, on either side.
double student_tails(double t_squared, double free);
// What a value exceeds with this probability, on either side.
double student_quantile(double free, double probability = 0.05);

// Of `count` successes or more, of n tries that each succeed with probability p.
double binomial_tail(double count, double n, double p);

// Of `count` events or fewer, where `expected` are.
double poisson_head(double count, double expected);

// The exact 95 % interval of what was expected where `count` events were seen (Garwood, 1936).
struct PoissonInterval {
  double low = 0;
  double high = 0;
};
PoissonInterval poisson_interval(double count);

}  // namespace memprof::profile
