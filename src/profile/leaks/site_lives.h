// SPDX-License-Identifier: Apache-2.0
// The lives of the blocks of one place: how long those lived that were freed, and when those were allocated that
// live.
//
// Model: sums over samples, by classes of lifetimes and by sixteenths of the run, or of its load
// (format/load/load_clock.h).  Tests count samples; what is told are the blocks and bytes that samples stand for.  What
// a process freed while it ended is live in its profile, and in the lifetimes too: it is taken out of these, by the ages
// of what lives.
//
// Threads: plain values.
// Failure: check_lives() throws.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "format/birth.h"
#include "format/lifetime_class.h"
#include "profile/model/model.h"

namespace memprof::profile {

constexpr double kNsPerMinute = 60e9;

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
  double run_ns = 0;  // by load: until that ended
  std::array<LivesSum, kLifetimeClasses> freed;
  std::array<LivesSum, kBirthParts> living;  // the oldest first
  // Some of what was freed was taken out: the program freed it while it ended.
  bool is_corrected = false;
  // Of the live samples: their number over that of samples of equal weight that say as much; at least 1.
  double spread_of_bytes() const;
  double spread_of_blocks() const;

  // Before anything is added: births are those by sixteenths of this load.  It is known.
  void count_by(const LoadTimes& load);
  bool is_by_load() const { return is_by_load_; }

  void add(const Stack& stack);
  LivesSum all_freed() const;
  LivesSum all_living() const;
  // Of what lives, the bytes of those parts that begin so long after the start or later, by time; 0 by load.
  double bytes_born_since(double since_ns) const;
  // How old what was born so many parts before the end is at least; 0 to kBirthParts, ascending.
  double age_ns(uint32_t parts) const {
    return is_by_load_ ? load_ages_ns_[parts] : run_ns / kBirthParts * parts;
  }
  // The ages of what was born in a part.
  double youngest_ns(uint32_t part) const { return age_ns(kBirthParts - 1 - part); }
  double oldest_ns(uint32_t part) const { return age_ns(kBirthParts - part); }

 private:
  // Sums over live samples, of what each stands for.
  struct Weights {
    double sum = 0;
    double squares = 0;
  };
  using ByClass = std::array<double, kLifetimeClasses>;

  double spread(const Weights& weights) const;
  const std::vector<Birth>& births_of(const Stack& stack) const;
  ByClass ages_of(const Stack& stack) const;
  ByClass freed_at_end(const Stack& stack) const;

  bool is_by_load_ = false;
  std::array<double, kBirthParts + 1> load_ages_ns_{};

  double live_samples_ = 0;
  Weights bytes_;
  Weights blocks_;
};

// Throws Error, which says `name`, where a profile does not say how long blocks live, or when they were allocated.
void check_lives(const std::string& name, const Profile& profile);

}  // namespace memprof::profile
