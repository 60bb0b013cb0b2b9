// SPDX-License-Identifier: Apache-2.0
// What a live page keeps of the looks at running processes: points of its timeline, and looks between which it can say
// what changed.
//
// Model: every n-th look is a point, kMaxPoints at most.  Looks are kept as pprof files, in memory, as often as there
// are points and at most for kShare of the time; the first one stays, and of the others every second goes when all are
// more than `max_bytes`.
//
// Threads: one command's own.
// Failure: between() throws profile::Error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memprof/host/process/roomy_thread.h"
#include "memprof/live/look_source.h"

namespace memprof::cli {

class LiveTimeline {
 public:
  static constexpr size_t kMaxPoints = 240;

  // `processor_time`: what the thread has used of the processor; what keeping a look costs is measured with it.
  explicit LiveTimeline(size_t max_bytes = size_t{64} << 20,
                        std::chrono::nanoseconds (*processor_time)() = processor_time_of_thread)
      : max_bytes_(max_bytes), processor_time_(processor_time) {}

  // `seconds` from the first look on, `time_unix_ns` by the clock; both grow.
  void add(const profile::LiveLook& look, double seconds, uint64_t time_unix_ns);

  const std::vector<TimelinePoint>& points() const { return points_; }
  size_t looks() const { return looks_.size(); }
  // The data block of a page of what changed between the looks next to two moments, or of the one look that is next
  // to both.  At least one look was added.  `last`: the one that was added last.
  std::string between(double first_s, double last_s, const profile::Profile& last) const;

 private:
  struct Look {
    double seconds = 0;
    uint64_t time_unix_ns = 0;
    std::string pprof;  // empty: the last one
  };

  void keep(const profile::Profile& profile);

  const size_t max_bytes_;
  std::chrono::nanoseconds (*const processor_time_)();
  std::vector<TimelinePoint> points_;
  size_t point_every_ = 1;  // so many looks
  size_t added_ = 0;
  std::vector<Look> looks_;
  size_t bytes_ = 0;  // of looks_
  Look last_;
  double next_look_s_ = 0;  // not kept before
};

}  // namespace memprof::cli
