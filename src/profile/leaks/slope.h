// SPDX-License-Identifier: Apache-2.0
// A straight line through what lives over time, and whether it rises.
//
// Model: least squares over the later half of the looks, at least three; where memory fills up and then stays, the
// beginning must not count.  The interval is Student's, from the spread around the line: what sampling adds is the
// same in neighbouring looks for blocks that live in both.
//
// Threads: no state.
#pragma once

#include <optional>
#include <vector>

namespace memprof::profile {

struct Look {
  double minutes = 0;
  double bytes = 0;
};

struct Slope {
  double bytes_per_minute = 0;
  double low = 0;  // 95 %
  double high = 0;
  double p_value = 1;  // that it does not rise
};

// `looks` ascending by time.  Nothing: fewer than three, or at one time.
std::optional<Slope> slope_of(const std::vector<Look>& looks);

}  // namespace memprof::profile
