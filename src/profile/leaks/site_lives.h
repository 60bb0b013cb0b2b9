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
  // Some of what was freed was taken out: the program freed it while it ended.
  bool is_corrected = false;
  // Of the live samples: their number over that of samples of equal weight that say as much; at least 1.
  double spread_of_bytes() const;
  double spread_of_blocks() const;

  void add(const Stack& stack);
  LivesSum all_freed() const;
  LivesSum all_living() const;
  double part_ns() const { return run_ns / kBirthParts; }

 private:
  // Sums over live samples, of what each stands for.
  struct Weights {
    double sum = 0;
    double squares = 0;
  };
  double spread(const Weights& weights) const;

  double live_samples_ = 0;
  Weights bytes_;
  Weights blocks_;
};

}  // namespace memprof::profile
