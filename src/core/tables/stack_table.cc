// SPDX-License-Identifier: Apache-2.0
#include "core/tables/stack_table.h"

#include <cstring>

#include "core/tables/peak.h"

namespace memprof {
namespace {

__extension__ using Uint128 = unsigned __int128;

}  // namespace

uint32_t intern_levels_for(uint64_t entries) {
  return levels_for_keys(entries);
}

StackKey stack_key(const uint64_t* frames, uint32_t depth, platform::Walk walk, uint32_t heap) {
  // Keys by place: the same arithmetic for all, so that no table of them is read.
  const uint64_t seed = (uint64_t{heap} << 19 | uint64_t{depth} << 8 | static_cast<uint64_t>(walk)) << 32;
  const auto key = [seed](uint32_t place) { return mix_hash(seed + place + 1); };
  Uint128 sum = key(depth);
  uint32_t i = 0;
  for (; i + 1 < depth; i += 2) {
    sum += static_cast<Uint128>(frames[i] + key(i)) * (frames[i + 1] + key(i + 1));
  }
  if (i < depth) {
    sum += static_cast<Uint128>(frames[i] + key(i)) * key(i + 1);
  }
  const uint64_t low = static_cast<uint64_t>(sum);
  const uint64_t high = static_cast<uint64_t>(sum >> 64);
  return {mix_hash(low ^ (high << 32 | high >> 32)), mix_hash(high + seed)};
}

StackTable::StackTable(const Arena& arena)
    : arena_(arena),
      index_(arena, kStackIndexSection, &arena.header().stack_levels),
      entries_(arena.at<StackEntry>(kStackSection)) {}

uint32_t StackTable::make(const StackKey& key, const uint64_t* frames, uint32_t depth, platform::Walk walk,
                          uint32_t heap) {
  const uint64_t first_frame = arena_.allocate(kFrameSection, depth * sizeof(uint64_t));
  if (first_frame == Arena::kNoOffset) {
    return kNone;
  }
  const uint64_t offset = arena_.allocate(kStackSection, sizeof(StackEntry));
  if (offset == Arena::kNoOffset) {
    return kNone;
  }
  const auto id = static_cast<uint32_t>(offset / sizeof(StackEntry));
  if (!PeakTable::reserve(arena_, id)) {
    return kNone;
  }
  memcpy(arena_.at<uint64_t>(kFrameSection, first_frame), frames, depth * sizeof(uint64_t));
  StackEntry& e = *arena_.at<StackEntry>(kStackSection, offset);
  e.heap = static_cast<uint16_t>(heap);
  e.depth = static_cast<uint16_t>(depth);
  e.walk = static_cast<uint8_t>(walk);
  e.hash = key.hash;
  e.check = key.check;
  e.first_frame = first_frame;
  e.ready.store(1, std::memory_order_release);  // pairs with the acquire in snapshot.cc
  return id;
}

uint32_t StackTable::intern(const StackKey& key, const uint64_t* frames, uint32_t depth, platform::Walk walk,
                            bool* is_new, uint32_t heap) {
  uint32_t made = kNone;
  const uint32_t id = index_.find_or_insert(
      key.hash, [&](uint32_t other) { return is(other, key); },
      [&] { return made = make(key, frames, depth, walk, heap); });
  *is_new = id != kNone && id == made;
  return id;
}

uint32_t StackTable::find_likely(const StackKey& key) const {
  const uint32_t id = index_.find_likely(key.hash);
  if (id != kNone) {
    __builtin_prefetch(&entries_[id], 1);
    __builtin_prefetch(&entries_[id].variance_bytes, 1);
  }
  return id;
}

namespace {

// In this order, and read in the other one (core/reader/snapshot.cc): the sums that a reader finds are never
// of fewer samples than it counts.
void add_totals(StackTotals* totals, uint64_t size_bytes, const Weight& weight) {
  add(totals->weight_bytes, weight.bytes);
  add(totals->weight_count, weight.count);
  totals->size_bytes.fetch_add(size_bytes, std::memory_order_release);
  totals->samples.fetch_add(1, std::memory_order_release);
}

}  // namespace

void StackTable::add_allocated(uint32_t id, uint64_t size_bytes, const Weight& weight) {
  StackEntry& e = entries_[id];
  add_totals(&e.allocated, size_bytes, weight);
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
  add_totals(&e.freed, size_bytes, weight);
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
