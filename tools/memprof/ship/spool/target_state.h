// SPDX-License-Identifier: Apache-2.0
// How far a target is, and what became of what it was sent, over restarts of the shipper.
//
// Model: looks are sent in the order of their sequences.  `attempting` is written before a look is sent, `done` after the
// answer: a shipper that was killed between sends the look again, as it was, and counts a repeat.
//
// Threads: one object, one thread at a time.
// Failure: opening throws Failure.
#pragma once

#include <cstdint>
#include <string>

#include "memprof/ship/spool/kept_page.h"

namespace memprof::cli {

struct ShipCounts {
  uint64_t accepted = 0;       // looks
  int64_t accepted_bytes = 0;  // allocated, as their increments say
  uint64_t repeats = 0;        // sent again, though the target may have had it
  uint64_t retries = 0;        // sent again, in all
  uint64_t refused = 0;        // dropped: the target will never take it
  int64_t refused_bytes = 0;
  uint64_t expired = 0;  // dropped: it waited for too long
  int64_t expired_bytes = 0;
  uint64_t damaged = 0;  // dropped: its file could not be read
  int64_t damaged_bytes = 0;
  uint64_t partly = 0;  // the target took some of the look's profiles; nobody knows which
  int64_t partly_bytes = 0;
  uint64_t rejected_profiles = 0;  // as the target said, of looks that it took in part, or refused
};

class TargetState {
 public:
  // `name`: of the target.  `newest`: the sequence before the first one that a target which is new gets.
  TargetState(const std::string& path, const std::string& name, uint64_t newest);

  uint64_t done() const { return done_; }
  // Whether the look was sent before, and nobody knows what became of it.
  bool may_be_there(uint64_t sequence) const { return attempting_ == sequence; }

  void begin(uint64_t sequence);
  // As begin() never was: it did not reach the target.
  void take_back();
  void finish(uint64_t sequence);

  ShipCounts counts;  // saved with begin() and finish()

 private:
  void save();

  KeptPage file_;
  const std::string name_;
  uint64_t done_ = 0;
  uint64_t attempting_ = 0;
};

}  // namespace memprof::cli
