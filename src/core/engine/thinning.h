// SPDX-License-Identifier: Apache-2.0
// Room in a full table of live samples: the rate rises, and each sample stays with the probability that a
// clock of the new rate would have found it, p'/p, and counts by p' from then on.  Both steps together find a
// block with probability p', so estimates stay unbiased (two-phase sampling; Saerndal, Swensson, Wretman,
// Model Assisted Survey Sampling, 1992, chapter 9).  When there is much room again, the rate falls back.
//
// A second cursor, in core/tables/stack_folding.cc, moves samples of stacks that leave the table of stacks.
//
// Model: a hand goes over the slots of the live map, a few an event, shared by all threads.  A sample that it
// has not come to counts by its old rate.
//
// Threads: any.  Signals: may be interrupted by itself.
// Allocates, waits: never.  An event looks at so many slots at most.
#pragma once

#include <cstdint>

namespace memprof::profiler {

inline constexpr uint64_t kThinSlots = 32;

// After each sample that was recorded.
void thin_live_samples(uint64_t now_ns);

}  // namespace memprof::profiler
