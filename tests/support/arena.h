// SPDX-License-Identifier: Apache-2.0
// An arena that goes when its test ends, with all tables on it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "core/arena/arena.h"
#include "core/reader/counters.h"
#include "core/reader/snapshot.h"
#include "core/tables/heap_map.h"
#include "core/tables/module_table.h"
#include "core/tables/name_table.h"
#include "core/tables/stack_table.h"

namespace memprof::testing_support {

inline constexpr Limits kSmallLimits{1024, 256, 64};

struct ScopedArena {
  explicit ScopedArena(const Limits& limits = kSmallLimits, const char* path = nullptr)
      : arena(Arena::create(limits, path)),
        live(arena),
        stacks(arena),
        names(arena),
        modules(arena, &names) {}
  ~ScopedArena() { Arena::release(arena); }
  ScopedArena(const ScopedArena&) = delete;
  ScopedArena& operator=(const ScopedArena&) = delete;

  const ArenaHeader& header() const { return arena.header(); }

  Arena arena;
  HeapMap live;
  StackTable stacks;
  NameTable names;
  ModuleTable modules;
};

// The first `size_bytes` bytes of an arena, as its file has them: zero where nothing is mapped.
inline void copy_file_of(const Arena& arena, uint8_t* to, uint64_t size_bytes) {
  memset(to, 0, size_bytes);
  memcpy(to, arena.base(), std::min<uint64_t>(size_bytes, kPageBytes));
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const Section& section = arena.header().section(id);
    if (section.offset < size_bytes) {
      memcpy(to + section.offset, arena.base() + section.offset,
             std::min(section.mapped_bytes.load(), size_bytes - section.offset));
    }
  }
}

struct ReleaseSnapshot {
  void operator()(Snapshot* snapshot) const { Snapshot::release(snapshot); }
};
using SnapshotPointer = std::unique_ptr<Snapshot, ReleaseSnapshot>;

inline Counters counters_of(const Arena& arena) {
  return read_counters(arena.header(), arena.at<StackEntry>(kStackSection), StackTable(arena).size());
}

inline SnapshotPointer take(const Arena& arena) {
  bool is_arena = false;
  SnapshotPointer s(Snapshot::read(arena.base(), arena.header().total_bytes, &is_arena));
  EXPECT_TRUE(is_arena);
  return s;
}

}  // namespace memprof::testing_support
