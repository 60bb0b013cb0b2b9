// SPDX-License-Identifier: Apache-2.0
// What the parts of a snapshot read from: for src/core/snapshot*.cc only.
//
// Threads, allocates, failure: core/snapshot.h.
#pragma once

#include <cstdint>

#include "core/arena.h"
#include "core/snapshot.h"

namespace memprof {

// The arena as far as it was checked: places and sizes, loaded once.
struct Snapshot::Source {
  const uint8_t* base;
  uint64_t length_bytes;
  uint64_t offsets[kSectionCount];
  uint64_t capacities[kSectionCount];
  uint64_t used[kSectionCount];  // bytes of a section that may be read
  uint32_t live_levels;

  const ArenaHeader& header() const { return *reinterpret_cast<const ArenaHeader*>(base); }

  template <typename T>
  const T* at(SectionId id, uint64_t offset_in_section = 0) const {
    return reinterpret_cast<const T*>(base + offsets[id] + offset_in_section);
  }
  template <typename T>
  uint64_t count(SectionId id) const {
    return used[id] / sizeof(T);
  }

  bool open(const void* arena, uint64_t length);
  // What is in use now, within what was checked.
  void refresh();
};

// A plain field of the arena, read once: whoever writes the arena may change it between a check and a use.
template <typename T>
inline T load_once(const T& field) {
  return __atomic_load_n(&field, __ATOMIC_RELAXED);
}

}  // namespace memprof
