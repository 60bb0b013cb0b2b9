// SPDX-License-Identifier: Apache-2.0
#include "core/stack_table.h"

#include <cstring>

namespace memprof {

uint32_t intern_levels_for(uint64_t entries) {
  return levels_for_keys(entries);
}

uint64_t hash_words(const uint64_t* words, uint32_t count, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ull ^ seed;
  for (uint32_t i = 0; i < count; ++i) {
    hash = (hash ^ words[i]) * 0x100000001b3ull;
    hash ^= hash >> 29;  // a word at a time, FNV's low bits would never see the high bits of a word
  }
  return mix_hash(hash);
}

StackTable::StackTable(const Arena& arena)
    : arena_(arena),
      index_(arena, kStackIndexSection, &arena.header().stack_levels),
      entries_(arena.at<StackEntry>(kStackSection)) {}

bool StackTable::same(uint32_t id, uint64_t hash, const uint64_t* frames, uint32_t depth,
                      platform::Walk walk) const {
  const StackEntry& e = entries_[id];
  return e.hash == hash && e.depth == depth && e.walk == static_cast<uint8_t>(walk) &&
         memcmp(arena_.at<uint64_t>(kFrameSection, e.first_frame), frames, depth * sizeof(uint64_t)) == 0;
}

uint32_t StackTable::make(uint64_t hash, const uint64_t* frames, uint32_t depth, platform::Walk walk) {
  const uint64_t first_frame = arena_.allocate(kFrameSection, depth * sizeof(uint64_t));
  if (first_frame == Arena::kNoOffset) {
    return kNone;
  }
  const uint64_t offset = arena_.allocate(kStackSection, sizeof(StackEntry));
  if (offset == Arena::kNoOffset) {
    return kNone;
  }
  memcpy(arena_.at<uint64_t>(kFrameSection, first_frame), frames, depth * sizeof(uint64_t));
  StackEntry& e = *arena_.at<StackEntry>(kStackSection, offset);
  e.depth = static_cast<uint16_t>(depth);
  e.walk = static_cast<uint8_t>(walk);
  e.hash = hash;
  e.first_frame = first_frame;
  e.ready.store(1, std::memory_order_release);  // pairs with the acquire in snapshot.cc
  return static_cast<uint32_t>(offset / sizeof(StackEntry));
}

uint32_t StackTable::intern(const uint64_t* frames, uint32_t depth, platform::Walk walk, bool* is_new) {
  const uint64_t hash = hash_words(frames, depth, static_cast<uint64_t>(walk));
  uint32_t made = kNone;
  const uint32_t id = index_.find_or_insert(
      hash, [&](uint32_t other) { return same(other, hash, frames, depth, walk); },
      [&] { return made = make(hash, frames, depth, walk); });
  *is_new = id != kNone && id == made;
  return id;
}

void StackTable::add_allocated(uint32_t id, uint64_t size_bytes, const Weight& weight) {
  StackEntry& e = entries_[id];
  count(e.allocated.samples);
  count(e.allocated.size_bytes, size_bytes);
  add(e.allocated.weight_bytes, weight.bytes);
  add(e.allocated.weight_count, weight.count);
  const double missed = 1.0 - weight.probability;
  if (missed > 0.0) {
    add(e.variance_bytes, missed * weight.bytes * weight.bytes);
    add(e.variance_count, missed * weight.count * weight.count);
    raise(e.max_missed_bytes, missed * weight.bytes);
    raise(e.max_missed_count, missed * weight.count);
  }
}

void StackTable::add_freed(uint32_t id, uint64_t size_bytes, const Weight& weight, uint64_t lifetime_ns) {
  StackEntry& e = entries_[id];
  count(e.freed.samples);
  count(e.freed.size_bytes, size_bytes);
  add(e.freed.weight_bytes, weight.bytes);
  add(e.freed.weight_count, weight.count);
  add(e.lifetime_ns, static_cast<double>(lifetime_ns) * weight.count);
  raise(e.max_lifetime_ns, lifetime_ns);
  uint64_t least = e.min_lifetime_plus_one_ns.load(std::memory_order_relaxed);
  while ((least == 0 || lifetime_ns + 1 < least) && !e.min_lifetime_plus_one_ns.compare_exchange_weak(
                                                        least, lifetime_ns + 1, std::memory_order_relaxed)) {
  }
}

uint64_t StackTable::size() const {
  return arena_.section(kStackSection).used_bytes.load(std::memory_order_relaxed) / sizeof(StackEntry);
}

}  // namespace memprof
