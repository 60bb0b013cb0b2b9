// SPDX-License-Identifier: Apache-2.0
// Frames -> stack id, and the running totals of each stack.
//
// Model: an intern index (core/intern_index.h) over entries; an entry points to its frames in a row of words.
// Nothing is ever removed, so a stack id stays valid.
//
// Threads: any number.  An entry is published with its frames written; totals are relaxed atomics, each right
// by itself (a snapshot may see one sample in some of them and not yet in others). Allocates: from its
// sections.  Failure: kNone when a limit is reached.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/intern_index.h"
#include "core/platform.h"
#include "core/weight.h"

namespace memprof {

// Sums over samples: what estimates and their intervals need when the samples are no longer at hand
// (shared with memprof_totals; ../shared/design/intervals.md derives them).
struct StackTotals {
  std::atomic<uint64_t> samples;
  std::atomic<uint64_t> size_bytes;
  std::atomic<double> weight_bytes;
  std::atomic<double> weight_count;
};

struct StackEntry {
  std::atomic<uint32_t> ready;  // 1: the fields down to the totals are written (release; readers acquire)
  uint16_t depth;
  uint8_t walk;  // platform::Walk
  uint8_t reserved;
  uint64_t hash;
  uint64_t first_frame;  // offset in the frame section
  StackTotals allocated;
  std::atomic<double> variance_bytes;  // sum of (1-p) w^2
  std::atomic<double> variance_count;
  std::atomic<double> max_missed_bytes;  // largest (1-p) w
  std::atomic<double> max_missed_count;
  StackTotals freed;
  std::atomic<double> lifetime_ns;                 // sum of lifetime times blocks
  std::atomic<uint64_t> min_lifetime_plus_one_ns;  // 0: nothing was freed
  std::atomic<uint64_t> max_lifetime_ns;
};

uint32_t intern_levels_for(uint64_t entries);

// FNV-1a over words, then mixed; any 64-bit hash would do.
uint64_t hash_words(const uint64_t* words, uint32_t count, uint64_t seed);

class StackTable {
 public:
  static constexpr uint32_t kNone = InternIndex::kNone;

  StackTable() = default;
  explicit StackTable(const Arena& arena);

  // *is_new becomes true when this call entered the stack.
  uint32_t intern(const uint64_t* frames, uint32_t depth, platform::Walk walk, bool* is_new);

  void add_allocated(uint32_t id, uint64_t size_bytes, const Weight& weight);
  void add_freed(uint32_t id, uint64_t size_bytes, const Weight& weight, uint64_t lifetime_ns);

  StackEntry& entry(uint32_t id) const { return entries_[id]; }
  uint64_t size() const;

 private:
  bool same(uint32_t id, uint64_t hash, const uint64_t* frames, uint32_t depth, platform::Walk walk) const;
  uint32_t make(uint64_t hash, const uint64_t* frames, uint32_t depth, platform::Walk walk);

  Arena arena_;
  InternIndex index_;
  StackEntry* entries_ = nullptr;
};

}  // namespace memprof
