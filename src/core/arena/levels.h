// SPDX-License-Identifier: Apache-2.0
// How the tables of an arena grow without moving: levels, each twice as large as the one before.
//
// Model: a table is a row of buckets of 8 words (one cache line).  A key belongs to one bucket a level and is
// there or nowhere.  It goes to the first level whose bucket has room; when none has, the next level is
// opened.
//     level 0  [ B ]            B buckets
//     level 1  [ 2B ]           a key that finds its bucket full goes on to the next level
//     level 2  [ 4B ]
// Nothing ever moves, so readers need no lock; a lookup reads one line for each open level; what is resident
// grows with what is stored.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/hash.h"

namespace memprof {

inline constexpr uint32_t kBucketSlots = 8;
inline constexpr uint32_t kFirstLevelBuckets = 128;
inline constexpr uint32_t kFirstLevelSlots = kFirstLevelBuckets * kBucketSlots;
inline constexpr uint32_t kMaxLevels = 24;

// Slots of one level, and of all levels before it (which is the index of its first slot).
inline constexpr uint64_t level_slots(uint32_t level) {
  return uint64_t{kFirstLevelSlots} << level;
}
inline constexpr uint64_t slots_before(uint32_t level) {
  return level_slots(level) - kFirstLevelSlots;
}

// The fewest levels that have `slots` slots together.
inline constexpr uint32_t levels_for(uint64_t slots) {
  uint32_t levels = 1;
  while (levels < kMaxLevels && slots_before(levels) < slots) {
    ++levels;
  }
  return levels;
}

// Levels in which `keys` keys find room whatever their hashes are: the limit of a table, not the luck of a
// key, is to be what refuses.  A single level is not enough (one for 300 keys refused its 285th), nor are two
// slots a key (two levels for 1,500 keys refuse one in 15 times); three, and two levels, are.
inline constexpr uint32_t levels_for_keys(uint64_t keys) {
  const uint32_t levels = levels_for(keys * 3);
  return levels < 2 ? 2 : levels;
}

// So many keys in `open` levels: the next level is needed soon.  Level 3 and those after it are opened by 0.51 to 0.66
// keys a slot that there is.
inline constexpr bool is_next_level_near(uint64_t keys, uint32_t open) {
  return keys > slots_before(open) / 2;
}

// From [0, 1), as a hash has it: the same for who asks again.
inline constexpr double uniform_of(uint64_t hash) {
  return static_cast<double>(hash >> 11) * 0x1p-53;
}

// First slot (counted over all levels) of the bucket of `hash` in `level`.  Each level takes other bits, so
// that keys which fill one bucket do not meet again in the next level.
inline constexpr uint64_t bucket_slot(uint64_t hash, uint32_t level) {
  const uint64_t buckets = uint64_t{kFirstLevelBuckets} << level;
  const uint64_t rotated = (hash >> (level * 2)) | (hash << ((64 - level * 2) & 63));
  return slots_before(level) + ((rotated * kGolden >> 32) & (buckets - 1)) * kBucketSlots;
}

}  // namespace memprof
