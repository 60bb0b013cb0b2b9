// SPDX-License-Identifier: Apache-2.0
#include "core/tables/stack_table.h"

#include "core/tables/peak.h"
#include "core/tables/table_sweep.h"

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
      callers_(arena),
      entries_(arena.at<StackEntry>(kStackSection)),
      units_(arena.at<LifetimeUnit>(kLifetimeSection)) {}

namespace {

// Of the entries, and of the words of frames: how many whole stacks may take, these and shortened ones, and all.
uint64_t max_for(StackKind kind, uint64_t all) {
  constexpr uint64_t kMaxRests = 64;
  const uint64_t rests = all / 4 == 0 ? 1 : all / 4 < kMaxRests ? all / 4 : kMaxRests;
  switch (kind) {
    case StackKind::kWhole:
      return all - rests - all / 8;
    case StackKind::kShortened:
      return all - rests;
    case StackKind::kRest:
      break;
  }
  return all;
}

uint32_t units_for(uint32_t depth) {
  return depth == 0 ? 1 : (depth + kFrameUnit - 1) / kFrameUnit;
}

uint64_t room_bytes(uint32_t depth) {
  return uint64_t{units_for(depth)} * kFrameUnit * sizeof(uint64_t);
}

uint64_t min_of(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

}  // namespace

uint32_t StackTable::make(const Content& content) {
  if (content.kind != StackKind::kWhole) {
    return make_with_callers(content);
  }
  Content shared = content;
  uint32_t unknown = 0;
  shared.callers = callers_.hold(content.frames, content.depth, &shared.own, &unknown);
  if (content.unknown != nullptr && *content.unknown < unknown) {
    *content.unknown = unknown;  // what was tried before made some of these known
  }
  const uint32_t id = make_with_callers(shared);
  if (id == kNone) {
    callers_.release(shared.callers);
  }
  return id;
}

uint32_t StackTable::make_with_callers(const Content& content) {
  const uint32_t id = make_new(content);
  if (id == kNone) {
    return make_anew(content);
  }
  if (content.kind == StackKind::kWhole) {
    prepare_leaving(content);
  }
  return id;
}

// Shortened stacks have their share wherever it lies: some come before the last whole ones.
uint64_t StackTable::fresh_for(const Content& content) const {
  const uint64_t all = arena_.header().limits.max_stacks;
  const uint64_t shortened = arena_.header().leaving.shortened.load(std::memory_order_relaxed);
  const uint64_t max_shortened = max_for(StackKind::kShortened, all) - max_for(StackKind::kWhole, all);
  const uint64_t max =
      max_for(content.kind, all) + (content.kind == StackKind::kWhole ? min_of(shortened, max_shortened) : 0);
  const uint64_t size_now = size();
  if (size_now >= max || (content.kind == StackKind::kShortened && shortened >= max_shortened)) {
    return 0;
  }
  const Section& frames = arena_.section(kFrameSection);
  const uint64_t max_frames =
      max_for(content.kind, frames.capacity_bytes / sizeof(uint64_t)) * sizeof(uint64_t);
  const uint64_t used = frames.used_bytes.load(std::memory_order_relaxed);
  return used >= max_frames ? 0 : min_of(max - size_now, (max_frames - used) / room_bytes(content.own));
}

// An entry that nobody had yet.  Whole stacks leave some for the others: a few whose frames are left out.
uint32_t StackTable::make_new(const Content& content) {
  if (fresh_for(content) == 0) {
    return kNone;
  }
  const uint64_t first_frame = arena_.allocate(kFrameSection, room_bytes(content.own));
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
  StackEntry& e = entries_[id];
  e.first_frame = first_frame;
  e.room = static_cast<uint8_t>(units_for(content.own));
  e.uses.fetch_add(1, std::memory_order_relaxed);
  if (content.kind == StackKind::kShortened) {
    arena_.header().leaving.shortened.fetch_add(1, std::memory_order_relaxed);
  }
  write(id, content);
  index_.prepare(id);
  return id;
}

// By who made the entry, or closed it.
void StackTable::write(uint32_t id, const Content& content) {
  StackEntry& e = entries_[id];
  auto* frames = arena_.at<uint64_t>(kFrameSection, e.first_frame);
  for (uint32_t i = 0; i < content.own; ++i) {
    store_once(frames + i, content.frames[i]);
  }
  store_once(&e.heap, static_cast<uint16_t>(content.heap));
  store_once(&e.depth, static_cast<uint16_t>(content.depth));
  store_once(&e.own, static_cast<uint16_t>(content.own));
  store_once(&e.callers, content.callers);
  store_once(&e.walk, static_cast<uint8_t>(static_cast<uint32_t>(content.walk) |
                                           static_cast<uint32_t>(content.kind) << kStackKindShift));
  e.hash.store(content.key.hash, std::memory_order_relaxed);
  e.check.store(content.key.check, std::memory_order_relaxed);
  e.seen.store(1, std::memory_order_relaxed);  // its first sample
  std::atomic<uint64_t>& events = arena_.header().leaving.events;
  e.since.store(
      static_cast<uint32_t>(content.kind == StackKind::kWhole ? events.fetch_add(1, std::memory_order_relaxed)
                                                              : events.load(std::memory_order_relaxed)),
      std::memory_order_relaxed);
  e.ready.store(1, std::memory_order_release);  // pairs with the acquire in snapshot.cc
  if (sweep_ != nullptr) {
    sweep_->watch(content.frames, content.depth);
  }
}

uint32_t StackTable::intern(const Content& content, bool* is_new) {
  constexpr int kMaxTries = 3;
  *is_new = false;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    uint32_t made = kNone;
    const uint32_t id = index_.find_or_insert(
        content.key.hash, [&](uint32_t other) { return is(other, content.key); },
        [&] { return made = make(content); });
    if (made != kNone && made == id) {
      *is_new = true;
      return id;
    }
    if (made != kNone) {
      release(made);  // another thread was faster; its place is taken by the next stack that needs one
    }
    if (id != kNone && hold(id, content.key)) {
      return id;
    }
    if (id == kNone && made == kNone) {
      break;
    }
  }
  return kNone;
}

uint32_t StackTable::intern(const StackKey& key, const uint64_t* frames, uint32_t depth, platform::Walk walk,
                            bool* is_new, uint32_t heap, uint32_t* unknown) {
  Content content{key, frames, depth, walk, heap, StackKind::kWhole};
  content.own = depth;
  content.unknown = unknown;
  const uint32_t id = intern(content, is_new);
  if (id != kNone) {
    return id;
  }
  const uint32_t shorter = intern_shorter(frames, depth, walk, heap, is_new);
  if (unknown != nullptr && *is_new) {
    *unknown = depth;
  }
  return shorter;
}

// acquire: who wrote the entry opened it after that.
bool StackTable::hold(uint32_t id, const StackKey& key) const {
  const uint32_t uses = entries_[id].uses.fetch_add(1, std::memory_order_acquire);
  if ((uses & (StackEntry::kClosed | StackEntry::kLeaving)) == 0 && is(id, key)) {
    return true;
  }
  release(id);
  return false;
}

bool StackTable::hold_any(uint32_t id) const {
  if ((entries_[id].uses.fetch_add(1, std::memory_order_acquire) & StackEntry::kClosed) == 0) {
    return true;
  }
  release(id);
  return false;
}

bool StackTable::hold_ref(uint32_t ref) const {
  const uint32_t id = stack_id_of(ref);
  const uint32_t uses = entries_[id].uses.fetch_add(1, std::memory_order_acquire);
  if ((uses & StackEntry::kClosed) == 0 && this->ref(id) == ref) {
    return true;
  }
  release(id);
  return false;
}

uint32_t StackTable::find_likely(const StackKey& key) const {
  const uint32_t id = index_.find_likely(key.hash);
  if (id != kNone) {
    __builtin_prefetch(&entries_[id], 1);
    __builtin_prefetch(&entries_[id].variance_bytes, 1);
    __builtin_prefetch(&entries_[id].uses, 1);
  }
  return id;
}

void StackTable::add_allocated(uint32_t id, uint64_t size_bytes, const Weight& weight) {
  StackEntry& e = entries_[id];
  add_totals(&e.allocated, size_bytes, weight);
  const double missed = 1.0 - weight.probability;
  if (weight.missed > 0.0) {
    add(e.variance_bytes, missed * weight.bytes * weight.bytes);
    add(e.variance_count, missed * weight.count * weight.count);
    raise(e.max_missed_bytes, weight.missed_bytes());
    raise(e.max_missed_count, weight.missed);
  }
}

StackTotals* StackTable::freed_sums(uint32_t id, uint64_t lifetime_ns) {
  StackEntry& e = entries_[id];
  const uint32_t lifetime = lifetime_class(lifetime_ns);
  // acquire pairs with the release in make_unit(): it can be touched.
  const uint32_t ref = e.units[lifetime / kUnitClasses].load(std::memory_order_acquire);
  StackTotals* classes =
      __builtin_expect(ref != 0, 1) ? unit_classes(ref) : make_unit(&e, lifetime / kUnitClasses);
  if (__builtin_expect(classes == nullptr, 0)) {
    count(arena_.header().later_statistics.unclassed_frees);
    return &e.freed;
  }
  __builtin_prefetch(&classes[lifetime % kUnitClasses], 1);
  return &classes[lifetime % kUnitClasses];
}

// nullptr: there is none left, or no memory.
[[gnu::noinline, gnu::cold]] StackTotals* StackTable::make_unit(StackEntry* e, uint32_t unit) {
  const uint64_t offset = arena_.allocate(kLifetimeSection, sizeof(LifetimeUnit));
  if (offset == Arena::kNoOffset) {
    return nullptr;
  }
  const auto ref = static_cast<uint32_t>(offset / sizeof(LifetimeUnit) + 1);
  uint32_t none = 0;
  // Another thread was faster: its unit is taken, and this one stays empty.
  return unit_classes(
      e->units[unit].compare_exchange_strong(none, ref, std::memory_order_acq_rel, std::memory_order_acquire)
          ? ref
          : none);
}

void StackTable::add_thinned(uint32_t id, uint64_t size_bytes, const Weight& weight) {
  add_totals(&entries_[id].freed, size_bytes, weight);
}

void StackTable::add_new_weight(uint32_t id, const Weight& before, const Weight& now) {
  add(entries_[id].freed.weight_bytes, before.bytes - now.bytes);
  add(entries_[id].freed.weight_count, before.count - now.count);
}

void StackTable::replace_weight(uint32_t id, const Weight& before, const Weight& now) {
  StackEntry& e = entries_[id];
  add(e.allocated.weight_bytes, now.bytes - before.bytes);
  add(e.allocated.weight_count, now.count - before.count);
  const double was_missed = 1.0 - before.probability;
  const double missed = 1.0 - now.probability;
  add(e.variance_bytes, missed * now.bytes * now.bytes - was_missed * before.bytes * before.bytes);
  add(e.variance_count, missed * now.count * now.count - was_missed * before.count * before.count);
  raise(e.max_missed_bytes, now.missed_bytes());
  raise(e.max_missed_count, now.missed);
}

uint64_t StackTable::frame(const StackEntry& e, uint32_t i) const {
  const uint64_t* frames = arena_.at<uint64_t>(kFrameSection, e.first_frame);
  if (i >= e.own) {
    uint32_t piece = e.callers;
    for (i -= e.own; i >= kPieceFrames; i -= kPieceFrames) {
      piece = callers_.piece(piece).callers;
    }
    frames = callers_.piece(piece).frames;
  }
  return __atomic_load_n(frames + i, __ATOMIC_RELAXED);  // a sweep may write there
}

uint64_t StackTable::size() const {
  return arena_.section(kStackSection).used_bytes.load(std::memory_order_relaxed) / sizeof(StackEntry);
}

}  // namespace memprof
