// SPDX-License-Identifier: Apache-2.0
// What jemalloc and tcmalloc count themselves (in use, free and kept, tables), asked from time to time and left in the
// arena for whoever reads it: dumps, the end of the process, other processes.
//
// Model: their functions take locks of the allocator.  A dump in a signal handler that interrupted that allocator
// would wait for itself, so no reader asks.  Asked is where the program itself has just called the allocator, and so
// holds none of its locks: in the event of a sample or of its free.  An allocator may call itself with a lock held
// (tcmalloc's debugging allocator does): none is asked while its own code is on the stack (Source::code).  An answer
// takes some 10 us.
//   When: each kPauseNs, and as soon as what lives has changed by a kMoved-th: a program that is at rest was asked
//   about the memory that it has.  Asking takes a kShare-th of a thread's time at most, and kMaxCreditNs once.
//   A small process that is young is spared the first question, which is the dearest.
//   On a signal stack no allocator is asked: the handler may have interrupted it.
//
// Threads: any; one at a time asks an allocator, the others go on.
// Signals: on a stack of the program a handler asks, as malloc itself: it may not allocate there.
// fork: attach() for a child's tables.
// Allocates: never; jemalloc makes room for its answers when it is asked first (0.4 MiB, with 256 arenas 1.4 MiB).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"
#include "format/resident.h"
#include "platform/stack.h"

namespace memprof::counts {

inline constexpr uint64_t kPauseNs = 20'000'000;
inline constexpr uint64_t kMoved = 32;
inline constexpr uint64_t kShare = 1000;
inline constexpr uint64_t kMaxCreditNs = 2'000'000;
inline constexpr uint64_t kFirstCostNs = 10'000;
inline constexpr uint64_t kSmallBytes = 4 << 20;
inline constexpr uint64_t kMinMoveBytes = 64 << 10;

// How an allocator is asked.
enum class Interface : uint32_t { kNone, kMallctl, kNumericProperty };

// An allocator that can be asked.
struct Source {
  Interface interface;
  uint32_t place;  // in the arena, and one: 0: it has none yet
  const void* function;
  platform::KnownCode code;      // the allocator's; without `contains` it is not asked
  std::atomic<uint64_t> due_ns;  // 0: it was never looked at, UINT64_MAX: a thread asks, or none ever will
  // Of who asks.
  uint64_t last_ns;
  uint64_t credit_ns;
  uint64_t cost_ns;
  std::atomic<uint64_t> live_bytes;  // relaxed; when it was asked
};

// Asks it, without regard to the time.  false: it does not answer.
bool ask(Interface interface, const void* function, CountedAllocator* answer);

// The calling thread is in the allocator's slow path, behind or before the real call, and outside of its locks unless
// the allocator itself has called the hook.
void ask_when_due(Source* source, uint64_t now_ns, const platform::Entry& entry);

// The allocator behind malloc's hooks.  As above.
extern Source g_malloc;
inline void look(uint64_t now_ns, const platform::Entry& entry) {
  if (__builtin_expect(g_malloc.due_ns.load(std::memory_order_relaxed) != UINT64_MAX, 0)) {
    ask_when_due(&g_malloc, now_ns, entry);
  }
}

// Before there are tables; `is_on` false: no allocator is asked.
void configure(bool is_on);
// An allocator's module is gone.
void forget(Source* source);
// New tables, in a child too: its threads do not finish what others began.
void attach(const Arena& arena);

// For readers.
AllocatorCounts read(const CountedState& state);

}  // namespace memprof::counts
