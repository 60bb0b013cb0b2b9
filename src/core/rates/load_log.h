// SPDX-License-Identifier: Apache-2.0
// When the process had allocated how much: at most 64 moments, in equal steps of bytes.
//
// Model: a mark is the time at which another step was allocated.  Where all places are taken every second mark goes, and
// the step is twice as large; so at least 32 are there once so many steps were.  One thread at a time writes marks, also
// for what others allocate meanwhile.
//
// Threads: any.
// Signals: may be interrupted by itself.  fork: new tables have a log of their own.
// Allocates, waits: never.
#pragma once

#include <cstdint>

#include "core/arena/arena.h"
#include "format/load/load_clock.h"

namespace memprof::load_log {

// The first step; those after it are powers of two times that.
inline constexpr uint64_t kFirstStepBytes = uint64_t{1} << 14;

// What a sample counts: the bytes that it stands for, but of one large block no more than this.  An array that grows, and is
// copied, is no work for as long as its bytes say.
inline constexpr uint64_t kMaxSampleBytes = uint64_t{1} << 20;
inline uint64_t counted_bytes(double weight_bytes, uint64_t rate_bytes) {
  const uint64_t max = rate_bytes > kMaxSampleBytes ? rate_bytes : kMaxSampleBytes;
  return weight_bytes < static_cast<double>(max) ? static_cast<uint64_t>(weight_bytes + 0.5) : max;
}

void mark(LoadState* log, uint64_t after_ns);

// A sample counts so many bytes; `after_ns`: after the start.
inline void count(LoadState* log, uint64_t bytes, uint64_t after_ns) {
  const uint64_t before = log->bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (__builtin_expect(before + bytes >= log->due_bytes.load(std::memory_order_relaxed), 0)) {
    mark(log, after_ns);
  }
}

// What a reader finds, who may come while marks are being written.  Without the times of the run.
LoadMarks read(const LoadState& log);

}  // namespace memprof::load_log
