// SPDX-License-Identifier: Apache-2.0
// What the parts of a snapshot read from: for src/core/reader/snapshot*.cc only.
//
// Threads, allocates, failure: core/reader/snapshot.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/reader/snapshot.h"
#include "core/tables/stack_table.h"

namespace memprof {

// The first arenas of version 9 end before what allocators count.
inline constexpr uint64_t kFirstVersion9HeaderBytes = offsetof(ArenaHeader, counted);

// The arena as far as it was checked: places and sizes, loaded once.
struct Snapshot::Source {
  const uint8_t* base = nullptr;
  uint64_t length_bytes = 0;
  int file = -1;        // not -1: `base` is a copy of it, as far as it was loaded
  bool is_cut = false;  // the file became shorter
  uint64_t offsets[kSectionCount] = {};
  uint64_t capacities[kSectionCount] = {};
  uint64_t used[kSectionCount] = {};    // bytes of a section that may be read
  uint64_t filled[kSectionCount] = {};  // of a file: so many have memory, as far as was asked
  uint32_t live_levels;
  uint32_t section_count = 0;
  bool has_counts = false;  // ArenaHeader::counted is there

  const ArenaHeader& header() const { return *reinterpret_cast<const ArenaHeader*>(base); }

  template <typename T>
  const T* at(SectionId id, uint64_t offset_in_section = 0) const {
    return reinterpret_cast<const T*>(base + offsets[id] + offset_in_section);
  }
  template <typename T>
  uint64_t count(SectionId id) const {
    return used[id] / sizeof(T);
  }

  // Those of before version 7 know neither their peak nor when their end began.
  bool has_peaks() const { return section_count > kPeakSection; }
  // Nor do those of before version 8 fold stacks.
  bool has_folds() const { return section_count > kFoldSection; }

  // From then on what was freed is kept by how long it lived.
  bool has_lifetimes() const { return section_count > kLifetimeSection; }

  // Nor do those of before version 9 know what the program maps itself.
  bool has_mappings() const { return section_count > kMappingSection; }

  // Nor do the stacks of those of before version 13 share callers.
  bool has_callers() const { return section_count > kCallerSection; }

  // Nor do those of before version 10 have what a runtime tells of its heap.
  bool has_runtime_heap() const { return section_count > kRuntimeHeapSection; }

  bool is_thinned() const {
    return has_folds() && header().thin.thinnings.load(std::memory_order_relaxed) != 0;
  }

  Source() = default;
  ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  bool open(const void* arena, uint64_t length);
  // Of `length` bytes.  *has_memory: false where that is why it cannot be opened.
  bool open_file(int fd, uint64_t length, bool* has_memory);
  // What is in use now, within what was checked.
  void refresh();
  // What is in use of a section: of a file, before it is looked at.
  void load(SectionId id);
  void load_part(SectionId id, uint64_t offset_in_section, uint64_t size_bytes);
  // The lifetimes of an entry, some of which may be new.
  void load_units(const StackEntry& e);

  void copy_part(uint64_t offset, uint64_t size_bytes);
  uint64_t filled_bytes(uint32_t id) const;
};

// Each frame that a stack has, and the index of its module; those that stacks share once.
template <typename Visit>
inline void Snapshot::for_each_frame(const Visit& visit) {
  for (uint64_t i = 0; i < own_frames.size; ++i) {
    visit(&own_frames.data[i], &own_frame_modules.data[i]);
  }
  for (uint64_t i = 0; i < caller_frames.size; ++i) {
    if (caller_depths.data[i / kPieceFrames] != 0) {
      visit(&caller_frames.data[i], &caller_frame_modules.data[i]);
    }
  }
}

// A thread may be adding to them.  Acquire pairs with the releases in add_totals(): each sample that is counted
// here is in the sums, and without one there are none.
// Totals: SnapshotTotals or SnapshotLifetime.
template <typename Totals>
inline void copy_sums_of(const StackTotals& from, Totals* to) {
  to->size_bytes = from.size_bytes.load(std::memory_order_acquire);
  to->weight_bytes = from.weight_bytes.load(std::memory_order_relaxed);
  to->weight_count = from.weight_count.load(std::memory_order_relaxed);
}

// A plain field of the arena, read once: whoever writes the arena may change it between a check and a use.
template <typename T>
inline T load_once(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

// Words where it can.
inline void load_bytes(void* to, const void* from, uint64_t size_bytes) {
  auto* target = static_cast<uint8_t*>(to);
  const auto* source = static_cast<const uint8_t*>(from);
  const uint8_t* const end = source + size_bytes;
  const auto load_until = [&](const uint8_t* limit) {
    while (source < limit) {
      *target++ = load_once(*source++);
    }
  };
  constexpr uint64_t kWord = sizeof(uint64_t);
  const uint64_t before = -reinterpret_cast<uintptr_t>(source) % kWord;
  load_until(before < size_bytes ? source + before : end);
  for (; static_cast<uint64_t>(end - source) >= kWord; source += kWord, target += kWord) {
    const uint64_t word = load_once(*reinterpret_cast<const uint64_t*>(source));
    __builtin_memcpy(target, &word, kWord);
  }
  load_until(end);
}

}  // namespace memprof
