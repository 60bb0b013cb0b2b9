// SPDX-License-Identifier: Apache-2.0
// The lives of the blocks of one place: how long those lived that were freed, and when those were allocated that
// live.
//
// Model: sums over samples, by classes of lifetimes and by sixteenths of the run.  Tests count samples; what is
// told are the blocks and bytes that samples stand for.  What a process freed while it ended is live in its profile, and
// in the lifetimes too: it is taken out of these, by the ages of what lives.
//
// Threads: plain values.
#pragma once

#include <array>

#include "format/birth.h"
#include "format/lifetime_class.h"
#include "profile/model/model.h"

namespace memprof::profile {

struct LivesSum {
  double samples = 0;
  double blocks = 0;
  double bytes = 0;

  void add(double more_samples, double more_blocks, double more_bytes) {
    samples += more_samples;
    blocks += more_blocks;
    bytes += more_bytes;
  }
};

struct SiteLives {
  double run_ns = 0;
  std::array<LivesSum, kLifetimeClasses> freed;
  std::array<LivesSum, kBirthParts> living;  // the oldest first
  // Of the live samples: how much their bytes differ, as the samples of equal weight that say as much, over
  // their number; at least 1.
  double spread() const;

  void add(const Stack& stack);
  LivesSum all_freed() const;
  LivesSum all_living() const;
  double part_ns() const { return run_ns / kBirthParts; }

 private:
  double live_samples_ = 0;
  double live_bytes_ = 0;
  double live_squares_ = 0;
};

}  // namespace memprof::profile
