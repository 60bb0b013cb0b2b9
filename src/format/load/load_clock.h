// SPDX-License-Identifier: Apache-2.0
// The clock of load: time that goes on as a process allocates what it frees again, and stands still while it is idle.
//
// Model: the engine notes when the process had allocated so many bytes, in equal steps (LoadMarks).  Of each step what
// still lives is taken away: the rest is what came and went, the load.  The clock is cut into sixteenths of the load;
// LoadTimes has the moments between them.  What was allocated once and is kept does not move it, however much that is.
//   Idle is an end of the run in which each step took more than six times as long as half of the steps did, and that has
//   at most a twelfth of all.  The last sixteenth ends there.
// docs/decisions/0104-the-clock-of-leaks.md says why.
//
// Threads: plain values.  Signals: pure.
// Allocates: never.
#pragma once

#include <cstdint>

#include "format/birth.h"

namespace memprof {

inline constexpr uint32_t kLoadMarks = 64;

// Times in nanoseconds after the start.
struct LoadMarks {
  uint64_t bytes = 0;       // allocated, as samples tell
  uint64_t step_bytes = 0;  // 0: nothing was noted
  uint32_t count = 0;
  float at_ns[kLoadMarks] = {};  // when (index + 1) steps were allocated
  uint64_t end_ns = 0;           // of the run
  uint64_t rate_bytes = 0;       // of the sampling
};

// When each sixteenth of the load began; the last one: when it ended, which is the end of the run, or before it, when
// the process became idle.
struct LoadTimes {
  uint64_t bytes = 0;  // of load; 0: not known
  uint64_t at_ns[kBirthParts + 1] = {};

  bool is_known() const { return bytes != 0; }
  uint64_t end_ns() const { return at_ns[kBirthParts]; }
  // What is born after the end is of the last part.
  uint32_t part_of(uint64_t birth_ns) const;
  // Does it say something else than time does?
  bool differs_from_time(uint64_t run_ns) const;
};

class LoadClock {
 public:
  explicit LoadClock(const LoadMarks& marks) : marks_(marks) {}

  // What lives, by its birth after the start.
  void add_live(uint64_t birth_ns, double weight_bytes);
  // Not known: too few bytes, or too little of them was freed again.
  LoadTimes times() const;

 private:
  // Step i goes from begin_of(i) until begin_of(i + 1); the one after the last mark until the end of the run.
  uint32_t steps() const { return marks_.count + 1; }
  double begin_of(uint32_t step) const;
  double bytes_of(uint32_t step) const;
  uint32_t step_of(uint64_t time_ns) const;
  double busy_step_ns() const;
  double end_of_load() const;

  const LoadMarks& marks_;
  double live_bytes_[kLoadMarks + 1] = {};  // by step of birth
};

}  // namespace memprof
