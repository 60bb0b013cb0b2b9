// SPDX-License-Identifier: Apache-2.0
// The rate by which sampling takes a given share of a program's CPU time.
//
// Model: of a program that goes on as it does, sampling costs in inverse proportion to the rate.  So each
// period tells, whatever its rate was, how large cost times rate is for each second of CPU time (the *work*),
// and work over the wanted share is the rate.  The work is a mean that forgets (one second of CPU time), and
// begins anew when what was spent lately tells clearly that the program does something else.  What was spent over the
// share, or under it, is paid back.  Rates are of a grid, two a doubling, so that a profile has few of them.
//   Before anything was measured a program is taken for a dear one, so it begins with a coarse rate: what ends after
// some milliseconds could not pay the first samples back, which are the dearest.
//
// Threads: one at a time.
// Signals, fork: pure.  Allocates: never.
#pragma once

#include <cstdint>

namespace memprof {

// What sampling may cost.
struct Budget {
  static constexpr uint64_t kDefaultMinRate = 16 * 1024;
  static constexpr uint64_t kDefaultMaxRate = 64 * 1024 * 1024;
  static constexpr uint32_t kMaxPpm = 500000;

  uint32_t share_ppm = 0;  // of the process's CPU time, in parts in a million; 0: the rate stays as it is set
  uint64_t min_rate_bytes = kDefaultMinRate;
  uint64_t max_rate_bytes = kDefaultMaxRate;
  // Without a share: the rate begins fine, and becomes kDefaultRateBytes (core/rates/fine_start.h).
  bool starts_fine = false;
};

// The rate of the grid (2^n and 3 * 2^n) that is nearest, as a factor.  0 and 1 stay.
uint64_t nearest_grid_rate(uint64_t rate_bytes);

class RateLaw {
 public:
  RateLaw() = default;
  explicit RateLaw(const Budget& budget);

  // After a period of `cpu_ns` at this rate, in which sampling took `spent_ns`: the rate of the next one.
  uint64_t next(uint64_t rate_bytes, uint64_t spent_ns, uint64_t cpu_ns);

  // What a program begins with: the given rate if it was chosen, within the bounds; where it is the default
  // (kDefaultRateBytes), the rate that a dear program would have.
  uint64_t first(uint64_t rate_bytes) const;

 private:
  uint64_t within_bounds(uint64_t rate_bytes) const;

  struct Work {
    double work = 0;    // sum of cost times rate, ns * bytes
    double cpu_ns = 0;  // of the same periods

    void add(double kept, double more, double cpu) {
      work = work * kept + more;
      cpu_ns = cpu_ns * kept + cpu;
    }
  };

  Budget budget_;
  Work all_;
  Work recent_;
  double spent_ns_ = 0;     // lately
  double expected_ns_ = 0;  // for the same periods
  double debt_ns_ = 0;      // spent more than the share, if positive
};

}  // namespace memprof
