// SPDX-License-Identifier: Apache-2.0
// Frames and heap -> stack id, and the running totals of each stack.  (Of what malloc gave, the heap is 0.)
//
// Model: an intern index (core/tables/intern_index.h) over entries; an entry points to its frames in a row of
// words. A stack is known by 128 bits of hash (StackKey), so that finding it again touches no frames. Nothing
// is ever removed, so a stack id stays valid.
//
// Threads: any number.  An entry is published with its frames written; totals are relaxed atomics, each right
// by itself (a snapshot may see one sample in some of them and not yet in others).
// Allocates: from its sections.
// Failure: kNone when a limit is reached.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/sampling/weight.h"
#include "core/tables/intern_index.h"
#include "platform/stack.h"

namespace memprof {

// Sums over samples: what estimates and their intervals need when the samples are no longer at hand
// (shared with memprof_totals; ../shared/design/intervals.md derives them).
struct StackTotals {
  std::atomic<uint64_t> samples;
  std::atomic<uint64_t> size_bytes;
  std::atomic<double> weight_bytes;
  std::atomic<double> weight_count;
};

// Three cache lines: a sample of a known stack reads the first and adds to the first two, its free adds to
// the third.
struct alignas(64) StackEntry {
  std::atomic<uint16_t> ready;  // 1: the fields down to the totals are written (release; readers acquire)
  uint16_t heap;                // core/tables/heap_names.h
  uint16_t depth;
  uint8_t walk;  // platform::Walk
  uint8_t reserved;
  uint64_t hash;
  uint64_t check;
  uint64_t first_frame;  // offset in the frame section
  StackTotals allocated;

  alignas(64) std::atomic<double> variance_bytes;  // sum of (1-p) w^2
  std::atomic<double> variance_count;
  std::atomic<double> max_missed_bytes;  // largest (1-p) w
  std::atomic<double> max_missed_count;

  alignas(64) StackTotals freed;
  std::atomic<double> lifetime_ns;                 // sum of lifetime times blocks
  std::atomic<uint64_t> min_lifetime_plus_one_ns;  // 0: nothing was freed
  std::atomic<uint64_t> max_lifetime_ns;
};
static_assert(sizeof(StackEntry) == 192);

uint32_t intern_levels_for(uint64_t entries);

// What tells stacks apart: depth, ending reason, heap and all frames, in two hashes.  NH of UMAC (Black,
// Halevi, Krawczyk, Krovetz, Rogaway, 1999): the sum modulo 2^128 of (frame + key) * (next frame + key'),
// which two different stacks share with a probability of 2^-64 for random keys, so that among 65,536 stacks
// one pair in 2^33 processes is taken for one.  Its products do not wait for each other.
struct StackKey {
  uint64_t hash;
  uint64_t check;
};
StackKey stack_key(const uint64_t* frames, uint32_t depth, platform::Walk walk, uint32_t heap = 0);

class StackTable {
 public:
  static constexpr uint32_t kNone = InternIndex::kNone;

  StackTable() = default;
  explicit StackTable(const Arena& arena);

  // *is_new becomes true when this call entered the stack.
  uint32_t intern(const StackKey& key, const uint64_t* frames, uint32_t depth, platform::Walk walk,
                  bool* is_new, uint32_t heap = 0);
  uint32_t intern(const uint64_t* frames, uint32_t depth, platform::Walk walk, bool* is_new,
                  uint32_t heap = 0) {
    return intern(stack_key(frames, depth, walk, heap), frames, depth, walk, is_new, heap);
  }

  // The same in steps, so that other work can go on while memory answers: prefetch, later find_likely (which
  // asks for the entry), later is().  kNone: not there.
  void prefetch(const StackKey& key) const { index_.prefetch(key.hash); }
  uint32_t find_likely(const StackKey& key) const;
  bool is(uint32_t id, const StackKey& key) const {
    return entries_[id].hash == key.hash && entries_[id].check == key.check;
  }

  // Opens what so many stacks need of the index.
  void open_for(uint64_t stacks) const { index_.open_for(stacks); }

  void add_allocated(uint32_t id, uint64_t size_bytes, const Weight& weight);
  void prefetch_freed(uint32_t id) const { __builtin_prefetch(&entries_[id].freed, 1); }
  void add_freed(uint32_t id, uint64_t size_bytes, const Weight& weight, uint64_t lifetime_ns);

  StackEntry& entry(uint32_t id) const { return entries_[id]; }
  uint64_t size() const;

 private:
  uint32_t make(const StackKey& key, const uint64_t* frames, uint32_t depth, platform::Walk walk,
                uint32_t heap);

  Arena arena_;
  InternIndex index_;
  StackEntry* entries_ = nullptr;
};

}  // namespace memprof
