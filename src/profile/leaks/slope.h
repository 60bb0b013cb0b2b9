// SPDX-License-Identifier: Apache-2.0
// A straight line through what lives over time, and whether it rises.
//
// Model: least squares over the later half of the looks, at least three; where memory fills up and then stays, the
// beginning must not count.  The interval is Student's, from the spread around the line, or where that is wider the one
// of chance: many looks that are close together have mostly the same blocks, and lie on a line that means nothing.  What
// lives at a level, independent blocks, differs between two looks by no more than what came and went in between, or than
// two counts of it do.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

struct Look {
  double minutes = 0;
  double bytes = 0;
  // What the interval of chance follows from; all 0: it is not asked.
  double samples = 0;       // live
  double square_bytes = 0;  // their sum, of the bytes that each stands for
  double events = 0;  // samples that were allocated, and that were freed, since the start of the process
};

// Adds what lives of a stack, and what happened on it.
void add_to_look(const Stack& stack, Look* look);

struct Slope {
  double bytes_per_minute = 0;
  double low = 0;  // 95 %
  double high = 0;
  double p_value = 1;  // that it does not rise
};

// When a look was, and what had been freed by then.
struct LookTime {
  double minutes = 0;
  double freed_bytes = 0;
  double rate_bytes = 0;  // of the sampling
};

struct BusyTime {
  size_t index = 0;    // of the look
  double minutes = 0;  // since the first look, without idle time
};

// Without the looks at the end of idle time: less than a twentieth was freed of what is on average, and chance does not
// explain it.
std::vector<BusyTime> busy_looks(const std::vector<LookTime>& looks);

// The first look that a line goes through; 0: fewer than three.
size_t first_of_line(size_t looks);

// `looks` ascending by time.  Nothing: fewer than three, or at one time.
std::optional<Slope> slope_of(const std::vector<Look>& looks);

}  // namespace memprof::profile
