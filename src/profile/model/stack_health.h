// SPDX-License-Identifier: Apache-2.0
// How complete the stacks of a profile are: why their walks ended, and how deep they are.
//
// Model: shares of samples are counted by the profiler, over all that it walked.  Shares of bytes and depths
// are of the stacks in the file, weighted by the bytes allocated there and by their samples; an inlined
// function adds no depth.  Nothing is guessed from a depth: a stack is complete when its walk reached the
// root, also where its middle was left out, for both of its ends are there (is_cut in format/walk.h); else it is truncated.
// What a full table took from older stacks later is counted apart.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "profile/model/model.h"

namespace memprof::profile {

struct StackHealth {
  uint64_t walks = 0;                                  // stacks taken, one a sample
  std::array<uint64_t, kWalkReasons> samples{};        // of them, by Walk
  std::array<double, kWalkReasons> allocated_bytes{};  // estimates, by Walk
  double total_allocated_bytes = 0;
  double shortened_bytes =
      0;  // allocated in stacks that were complete, and lost frames when the table was full
  // Of the stacks in the file; nothing where one of them has no statistics.
  std::optional<uint64_t> median_depth;
  std::optional<uint64_t> min_depth;
  std::optional<double> mean_depth;

  uint64_t of(Walk walk) const { return samples[static_cast<size_t>(walk)]; }
  double bytes_of(Walk walk) const { return allocated_bytes[static_cast<size_t>(walk)]; }
  uint64_t complete() const { return of(Walk::kRoot) + of(Walk::kMiddleLeftOut); }
  double complete_bytes() const;
  uint64_t truncated() const { return walks - complete(); }
  double truncation_rate() const;  // of samples, 0 to 1
};

// Nothing for a profile that does not say how its walks ended.
std::optional<StackHealth> stack_health(const Profile& profile);

// "high": less than 5 % of the samples are truncated; "medium": less than 20 %; "low".
const char* confidence_name(double truncation_rate);

}  // namespace memprof::profile
