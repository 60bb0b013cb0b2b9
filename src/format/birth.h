// SPDX-License-Identifier: Apache-2.0
// When what lives was allocated: live samples by sixteenths of the run.  An age is the time of the run less a birth,
// so one small histogram tells both (docs/decisions/0071-leaks.md).
//
// Threads, signals: pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {

inline constexpr uint32_t kBirthParts = 16;

// Live samples of one stack that were allocated in one part of the run, the oldest first.
struct Birth {
  uint32_t part = 0;
  uint64_t samples = 0;
  double weight_bytes = 0;
  double weight_count = 0;
};

// Times of one clock, in nanoseconds.  What seems to be older than the run is of its first part.
constexpr uint32_t birth_part(uint64_t birth_ns, uint64_t start_ns, uint64_t end_ns) {
  if (birth_ns <= start_ns || end_ns <= start_ns) {
    return 0;
  }
  if (birth_ns >= end_ns) {
    return kBirthParts - 1;
  }
  const auto share = static_cast<double>(birth_ns - start_ns) / static_cast<double>(end_ns - start_ns);
  const auto part = static_cast<uint32_t>(share * kBirthParts);
  return part < kBirthParts ? part : kBirthParts - 1;
}

}  // namespace memprof
