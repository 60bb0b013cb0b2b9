// SPDX-License-Identifier: Apache-2.0
// The rate of a program that is seen finely as long as it is small.
//
// Model: after B bytes the rate is a part of B, so what a program allocates last is seen as finely as what it allocated
// first, for its size:
//     kFirstRateBytes             up to kFirstBytes   8 KiB, up to 10 MiB
//     B / kSamples                up to kSmallBytes   26 KiB at 32 MiB
//     with B to the 5/4           from there on       106 KiB at 100 MiB, and at 350 MiB the last rate
// This is for samples that cost up to kCostNs.  Dear ones are those of new stacks, as while a program imports its
// modules: each of their sites has one or two samples, and twice as many would tell little more of it.  So where samples
// are n times as dear, n^2 times fewer are taken; once they are cheap again, as many as if they had always been.
// Rates are powers of two, so that a profile has few of them.
// docs/decisions/0106-a-rate-that-starts-fine.md derives the numbers.
//
// Threads: one at a time.
// Signals, fork: pure.  Allocates: never.
#pragma once

#include <cstdint>

namespace memprof {

class FineLaw {
 public:
  static constexpr uint64_t kFirstRateBytes = 8 * 1024;
  static constexpr uint64_t kLastRateBytes = 512 * 1024;
  static constexpr uint64_t kSamples = 1280;
  static constexpr uint64_t kFirstBytes = kSamples * kFirstRateBytes;
  static constexpr uint64_t kSmallBytes = 32 * 1024 * 1024;
  static constexpr uint64_t kCostNs = 2500;
  // The rate is looked at again after so many samples.
  static constexpr int64_t kSamplesOfALook = 16;

  // What all samples before the last rate may cost in the life of a process: so much, or this part of its CPU time, where
  // that is more.
  static constexpr uint64_t kMaxCostNs = 20000000;
  static constexpr uint64_t kCpuOverCost = 200;

  // The rate after `bytes`, if samples cost little; kLastRateBytes: it stays that.
  static double rate_after(uint64_t bytes);

  // After `samples` that took `spent_ns`, since the last call, at `rate_bytes`: the rate after `bytes` in all.
  uint64_t next(uint64_t rate_bytes, uint64_t bytes, uint64_t samples, uint64_t spent_ns);

 private:
  // Of a sample, as a mean that forgets.  At first: as new stacks.
  double spent_ns_ = 32 * 5000;
  double samples_ = 32;
};

}  // namespace memprof
