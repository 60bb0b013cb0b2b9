// SPDX-License-Identifier: Apache-2.0
// Whether the births of what is never freed are spread over the run, and how fast it grows.
//
// Model: samples by sixteenths of the run.  A place that leaks adds to the first, the middle and the last third of the
// run.  For each third the hypothesis that nothing leaks says that its rate is at most a quarter of that of the
// others, and a binomial test asks it; the p-value is the largest of the three.  One burst must not stand for a
// third: a part counts at most three times the median and three more, and where neighbouring parts differ by
// more than chance (blocks come in bunches), samples count for as much less.
//
// Threads: no state.
#pragma once

#include <cstdint>

#include "profile/leaks/site_lives.h"

namespace memprof::profile {

struct GrowthRate {
  double bytes_per_minute = 0;
  double low = 0;  // 95 %
  double high = 0;
};

struct BirthSpread {
  uint32_t parts = 0;  // that were looked at, from the start of the run
  double samples = 0;  // in them
  double p_value = 1;  // of "it is not spread over the run"
  // When it begins and ends, as parts of the run; where there are samples.
  uint32_t first = 0;
  uint32_t last = 0;
  // By more than chance: nearly nothing at its end; the last third has much less than the middle one; less.
  bool has_stopped = false;
  bool has_faded = false;
  bool is_slowing = false;
  // What is short of that, and makes growth doubtful, each with odds of 1 in 100 at most where the rate stays: the
  // second half has less than half of the first; a last part has less than half of what was expected.
  bool has_halved = false;
  bool may_have_stopped = false;
  // Nine of ten samples are within so many neighbouring parts, from `dense_first` on.
  uint32_t dense_first = 0;
  uint32_t dense_parts = 0;
  GrowthRate rate;
};

// Of the first `parts` sixteenths of the run, at least 4.
BirthSpread birth_spread(const SiteLives& lives, uint32_t parts);

}  // namespace memprof::profile
