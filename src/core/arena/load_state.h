// SPDX-License-Identifier: Apache-2.0
// The part of an arena that says when the process had allocated how much.
//
// Threads: core/rates/load_log.h says who writes what.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/load/load_clock.h"

namespace memprof {

// All relaxed, but `state`.
struct LoadState {
  std::atomic<uint64_t> bytes;      // what all samples stand for
  std::atomic<uint64_t> due_bytes;  // of the next mark
  std::atomic<uint64_t> state;
  std::atomic<float> at_ns[kLoadMarks];  // after the start
};

}  // namespace memprof
