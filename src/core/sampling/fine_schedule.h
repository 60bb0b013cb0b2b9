// SPDX-License-Identifier: Apache-2.0
// The rates of a program that begins with a fine one and gets coarser as its bytes go by.
//
// Model: kFirstRateBytes for the first kFirstSamples samples, and then each doubling of the rate for half as many,
// until the rate that it ends with.  Of small blocks so many samples stand for a fixed number of bytes, so after B
// bytes the rate is between B / kFirstSamples and 2 B / kFirstSamples: the newest part of what was allocated, and
// not only the oldest, is seen as finely as the program is small.  A large block is one sample at any of these
// rates, and takes no more of the schedule than it costs.  A rate ends sooner where its samples have cost their
// share of kMaxCostNs (docs/decisions/0106-a-rate-that-starts-fine.md has the figures).
//
// Threads, signals, fork: pure.  Allocates: never.
#pragma once

#include <cstdint>

namespace memprof::fine_schedule {

inline constexpr uint64_t kFirstRateBytes = 8 * 1024;
inline constexpr int64_t kFirstSamples = 1024;

// What all samples before the last rate may cost, in a process's life: so much, or this part of its CPU time, where
// that is more.
inline constexpr uint64_t kMaxCostNs = 20000000;
inline constexpr uint64_t kCpuOverCost = 200;  // 0.5 %
// With less than this left it is not worth a beginning.
inline constexpr uint64_t kMinCostNs = 1000000;

// How many samples are taken at this rate before the next one.
constexpr int64_t samples_at(uint64_t rate_bytes) {
  return rate_bytes <= kFirstRateBytes ? kFirstSamples : kFirstSamples / 2;
}

constexpr uint64_t next_rate(uint64_t rate_bytes, uint64_t last_rate_bytes) {
  return rate_bytes * 2 < last_rate_bytes ? rate_bytes * 2 : last_rate_bytes;
}

// All samples from this rate on, that one's among them, before the last rate.
constexpr int64_t samples_from(uint64_t rate_bytes, uint64_t last_rate_bytes) {
  int64_t samples = 0;
  for (; rate_bytes < last_rate_bytes; rate_bytes = next_rate(rate_bytes, last_rate_bytes)) {
    samples += samples_at(rate_bytes);
  }
  return samples;
}

// What the samples of this rate may cost, of what is left for it and the rates after it.
constexpr uint64_t cost_at(uint64_t rate_bytes, uint64_t last_rate_bytes, uint64_t left_ns) {
  const int64_t all = samples_from(rate_bytes, last_rate_bytes);
  return all == 0 ? 0 : left_ns / static_cast<uint64_t>(all) * static_cast<uint64_t>(samples_at(rate_bytes));
}

}  // namespace memprof::fine_schedule
