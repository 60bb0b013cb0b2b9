// SPDX-License-Identifier: Apache-2.0
// Times of looks of which no two are the same, also where the clock of the machine is set back: a service that stores one
// time and one set of labels once would lose a look that has the time of another.
//
// Model: the last four bits of the milliseconds count how often the clock went back, so times of after differ from those
// of before.  Sixteen times later they may meet again; they are hours apart then.
//
// Threads: plain values.
#pragma once

#include <cstdint>

namespace memprof::cli {

struct LookClock {
  static constexpr int64_t kStepMs = 16;  // two looks are at least so far apart

  static constexpr int64_t kNearSteps = 64;

  int64_t last_ms = 0;
  uint32_t turned_back = 0;

  // The time of a look that is taken now.  `now_ms`: since 1970.
  int64_t next(int64_t now_ms) {
    int64_t step = now_ms / kStepMs;
    const int64_t last_step = last_ms / kStepMs;
    if (step <= last_step && last_step - step < kNearSteps) {
      step = last_step + 1;  // soon after the last one, or a clock that is set a little
    } else if (step < last_step) {
      ++turned_back;
    }
    last_ms = step * kStepMs + turned_back % kStepMs;
    return last_ms;
  }
};

}  // namespace memprof::cli
