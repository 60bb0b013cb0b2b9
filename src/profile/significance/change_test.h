// SPDX-License-Identifier: Apache-2.0
// Finds in many rows of values over time those whose level shifted once, or that began to grow, at a stated chance of
// any false one among all rows and all positions.
//
// Model: without a change, blocks of time (days) could have come in any order.  Each row has a statistic: the largest,
// over shapes (a step at each position, growth from the beginning and from each quarter), of |slope| / its error in a
// regression on the shape.  The error has the correlation of neighbours in it.  The order of the blocks is shuffled, for
// all rows at once, and the largest statistic of all rows is taken; a row has changed where few shuffles have more.
//
// Sources: permutation of the maximum (Westfall, Young, Resampling-Based Multiple Testing, 1993), p = (1 + more) / (1 +
// shuffles) (Phipson, Smyth 2010); a studentised statistic keeps its level under weak dependence (Romano, Tirlea,
// Permutation testing for dependence in time series, 2022); variance with the correlation of neighbours (Newey, West
// 1987).  Time of a step: Hansen, Econometrica 68 (2000).
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memprof::profile {

struct ChangeRow {
  std::vector<double> values;  // one a block, by time; of all rows the same number
  double min_variance = 0;     // of one value: it is known to scatter so much
  double min_change = 0;       // what is less is no change
};

struct ChangeTest {
  std::vector<double>
      p_values;  // of each row, corrected for their number; 1 where it is not known to be small
  size_t shuffles = 0;
};

// Fewer blocks than this can never have a p-value of `rate` or less: a clear step in their middle comes by chance once
// in (blocks over half of them) / 2 orders.
size_t min_blocks(double rate);

// `rate`: the chance of any false one.  Nothing but p-values up to `rate` is worked out to the end.  Takes about
// blocks * rows * 10 / rate steps, and fewer shuffles where that is too many.
ChangeTest change_test(const std::vector<ChangeRow>& rows, double rate, uint64_t seed);

enum class ChangeShape { kStep, kGrowth, kUnclear };

// The change that fits a row best.  Times are in blocks: a block that begins at 3 ends at 4.
struct ChangeFit {
  ChangeShape shape = ChangeShape::kStep;
  double time = 0;  // of the step, or the beginning of the growth
  double low_time = 0;
  double high_time = 0;
  double before = 0;  // level before, or at the beginning
  double after = 0;   // level after, or at the end
  double before_error = 0;
  double after_error = 0;
  double change_error = 0;  // of after - before; all are standard errors, as if the time were known
  double growth = 0;        // a block
  double growth_error = 0;
};

// `begins`: of each block.  At least 5 values.
ChangeFit fit_change(const ChangeRow& row, const std::vector<double>& begins);

}  // namespace memprof::profile
