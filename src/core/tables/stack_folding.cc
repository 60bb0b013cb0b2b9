// SPDX-License-Identifier: Apache-2.0
// The part of the stack table that makes room in a full one: a limit costs detail, never totals, and the
// newest stacks keep their detail.
//
// Model: a hand goes over the entries, a few an event.  What it finds unused, and not sampled since it came by
// last, is closed, so that nobody finds it any more; its sums go to a stack of its frames next to the leaf and
// the root's (kShortened), and its place to the stack that needs one.  Shortened stacks have a share of the
// table and a hand of their own, and give their sums to one of no frames (kRest), of which there is one for
// each heap and ending of a walk.  Those stay.
//
// Readers that copy the table meanwhile could find the sums twice or not at all.  Each fold is written to a
// log, and they read both of its entries again (core/reader/snapshot_stacks.cc).
//
// Threads: any; an entry is closed by a compare-exchange of its uses, and then its closer's alone.
// Allocates, waits: never.  A fold is some twenty additions.
#include "core/tables/peak.h"
#include "core/tables/stack_table.h"

namespace memprof {
namespace {

// Entries that one event looks at.
constexpr uint32_t kFoldLooks = 16;
// Where they are rare, for one that nobody uses.
constexpr uint32_t kMinLooks = 4;
// For one that has left.
constexpr uint32_t kMaxLooksForLeft = 48;

// What stays of a stack: so many frames at the leaf, at most half of them, and one at the root.
constexpr uint32_t kLeafFrames = 8;

template <typename T>
void move_sum(std::atomic<T>* from, std::atomic<T>* to) {
  const T value = from->exchange(T{}, std::memory_order_relaxed);
  if constexpr (std::is_floating_point_v<T>) {
    add(*to, value);
  } else {
    to->fetch_add(value, std::memory_order_relaxed);
  }
}

template <typename T>
void move_most(std::atomic<T>* from, std::atomic<T>* to) {
  raise(*to, from->exchange(T{}, std::memory_order_relaxed));
}

// In the order of add_totals().
void move_totals(StackTotals* from, StackTotals* to) {
  move_sum(&from->weight_bytes, &to->weight_bytes);
  move_sum(&from->weight_count, &to->weight_count);
  move_sum(&from->size_bytes, &to->size_bytes);
  to->samples.fetch_add(from->samples.exchange(0, std::memory_order_relaxed), std::memory_order_release);
}

void move_sums(StackEntry* from, StackEntry* to) {
  move_sum(&from->variance_bytes, &to->variance_bytes);
  move_sum(&from->variance_count, &to->variance_count);
  move_most(&from->max_missed_bytes, &to->max_missed_bytes);
  move_most(&from->max_missed_count, &to->max_missed_count);
  move_totals(&from->allocated, &to->allocated);
  move_totals(&from->freed, &to->freed);
}

StackKind kind_of(const StackEntry& e) {
  return stack_kind(__atomic_load_n(&e.walk, __ATOMIC_RELAXED));
}

}  // namespace

uint32_t StackTable::intern_rest(platform::Walk walk, uint32_t heap, bool* is_new) {
  const uint64_t frame = platform::kOlderStacks;
  return intern({stack_key(&frame, 1, walk, heap), &frame, 1, walk, heap, StackKind::kRest}, is_new);
}

// frame_at(i): the frame i of the stack, leaf first.
template <typename FrameAt>
uint32_t StackTable::intern_shorter(const FrameAt& frame_at, uint32_t depth, platform::Walk walk,
                                    uint32_t heap, bool* is_new) {
  uint64_t kept[kLeafFrames + 2];
  uint32_t size = 0;
  for (; size < kLeafFrames && size < depth / 2; ++size) {
    kept[size] = frame_at(size);
  }
  if (size == 0) {
    return intern_rest(walk, heap, is_new);
  }
  kept[size++] = platform::kOlderStacks;
  if (depth > size) {
    kept[size++] = frame_at(depth - 1);
  }
  const uint32_t id =
      intern({stack_key(kept, size, walk, heap), kept, size, walk, heap, StackKind::kShortened}, is_new);
  return id != kNone ? id : intern_rest(walk, heap, is_new);
}

bool StackTable::is_fit(const StackEntry& e, const Content& content) const {
  return e.ready.load(std::memory_order_acquire) != 0 && kind_of(e) == content.kind &&
         uint32_t{__atomic_load_n(&e.room, __ATOMIC_RELAXED)} * kFrameUnit >= content.own;
}

// How many whole stacks were written since it was, or since it began to leave.
uint32_t StackTable::age_of(const StackEntry& e) const {
  return static_cast<uint32_t>(arena_.header().leaving.events.load(std::memory_order_relaxed)) -
         e.since.load(std::memory_order_relaxed);
}

// So many that the first has left when the last one leaves: an event looks at kMoveSlots slots.
uint64_t StackTable::wanted_leaving() const {
  const uint64_t slots = slots_before(arena_.header().live_levels.open.load(std::memory_order_relaxed));
  const uint64_t events = slots / kMoveSlots * 3 / 2 + 128;
  const uint64_t max = arena_.header().limits.max_stacks / 4;
  return events < max ? events : max;
}

// An entry becomes the caller's alone, unless somebody uses it.
bool StackTable::close(uint32_t id) const {
  StackEntry& e = entries_[id];
  uint32_t uses = e.uses.load(std::memory_order_relaxed) & StackEntry::kLeaving;
  const bool was_leaving = uses != 0;
  // acquire pairs with the release of each use that was given back: its sums are all there.
  if (!e.uses.compare_exchange_strong(uses, StackEntry::kClosed, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
    return false;
  }
  if (was_leaving) {
    arena_.header().fold.leaving.fetch_sub(1, std::memory_order_relaxed);
  }
  return true;
}

// Of an entry that is closed.
bool StackTable::replace(uint32_t id, const Content& content) {
  StackEntry& e = entries_[id];
  if (is_fit(e, content) && fold(id)) {
    write(id, content);
    end_move();
    e.uses.fetch_add(1 - StackEntry::kClosed, std::memory_order_release);  // open, and held
    return true;
  }
  e.uses.fetch_sub(StackEntry::kClosed, std::memory_order_release);
  return false;
}

// The hand goes on until it finds one that nobody uses.  Where these are rare, only until one that nobody samples:
// then whole stacks go in the order in which they came.
StackTable::Looked StackTable::look(const Content& content, uint64_t first, uint64_t entries) {
  ArenaHeader& header = arena_.header();
  const bool is_whole = content.kind == StackKind::kWhole;
  std::atomic<uint64_t>& hand = header.fold.hands[is_whole ? 0 : 1];
  const uint64_t newest = is_whole ? (entries / 4 < kNewestStacks ? entries / 4 : kNewestStacks) : 0;
  const uint32_t spared = static_cast<uint32_t>(header.leaving.spared_looks.load(std::memory_order_relaxed));
  Looked found;
  for (; found.looks < kFoldLooks && entries != 0; ++found.looks) {
    if (found.idle != kNone && found.looks + (is_whole ? spared : 0) >= kFoldLooks) {
      break;
    }
    const auto id = static_cast<uint32_t>(first + hand.fetch_add(1, std::memory_order_relaxed) % entries);
    StackEntry& e = entries_[id];
    if (!is_fit(e, content)) {
      continue;
    }
    const uint32_t uses = e.uses.load(std::memory_order_relaxed);
    const bool is_leaving = (uses & StackEntry::kLeaving) != 0;
    const auto samples = static_cast<uint32_t>(e.allocated.samples.load(std::memory_order_relaxed));
    if (!is_leaving &&
        (e.seen.exchange(samples, std::memory_order_relaxed) != samples || age_of(e) < newest)) {
      continue;
    }
    if ((uses & ~StackEntry::kLeaving) == 0) {
      found.unused = id;
      break;
    }
    if (!is_leaving && (uses & StackEntry::kClosed) == 0 && found.idle == kNone) {
      found.idle = id;
    }
  }
  if (is_whole) {
    const uint32_t now = found.unused != kNone ? spared / 2 : (kFoldLooks - kMinLooks + spared) / 2;
    if (now != spared) {
      header.leaving.spared_looks.store(now, std::memory_order_relaxed);
    }
  }
  return found;
}

// The oldest of those that have left.  One that still has live samples, or no room for so many frames, keeps the hand
// from going on for a while.
uint32_t StackTable::close_left(const Content& content, uint64_t entries) {
  LeavingState& state = arena_.header().leaving;
  if (arena_.header().fold.leaving.load(std::memory_order_relaxed) == 0) {
    return kNone;
  }
  const uint64_t patience = 2 * wanted_leaving() + kNewestStacks;
  uint64_t first = state.hand.load(std::memory_order_relaxed);
  // It never comes by the other hand.
  const uint64_t ahead = arena_.header().fold.hands[0].load(std::memory_order_relaxed) % entries;
  const uint64_t max = (ahead + entries - first % entries) % entries;
  uint64_t next = first;
  uint32_t closed = kNone;
  for (uint32_t looks = 0; looks < kMaxLooksForLeft && looks < max && closed == kNone; ++looks) {
    const auto id = static_cast<uint32_t>((first + looks) % entries);
    const StackEntry& e = entries_[id];
    const uint32_t uses = e.uses.load(std::memory_order_relaxed);
    if (uses == StackEntry::kLeaving && is_fit(e, content) && close(id)) {
      closed = id;
    }
    const bool is_waited_for = closed == kNone && (uses & StackEntry::kLeaving) != 0 && age_of(e) < patience;
    next += next == first + looks && !is_waited_for ? 1 : 0;
  }
  state.hand.compare_exchange_strong(first, next, std::memory_order_relaxed);
  return closed;
}

// The place of another stack.
uint32_t StackTable::make_anew(const Content& content) {
  if (content.kind == StackKind::kRest) {
    return kNone;
  }
  const uint64_t border = border_of_shortened();
  if (content.kind == StackKind::kShortened) {
    const Looked found = look(content, border, size() - border);
    return found.unused != kNone && close(found.unused) && replace(found.unused, content) ? found.unused
                                                                                          : kNone;
  }
  std::atomic<uint64_t>& last = arena_.header().leaving.end;
  uint64_t end = 0;
  if (last.compare_exchange_strong(end, size(), std::memory_order_relaxed)) {
    end = last.load(std::memory_order_relaxed);
  }
  const Looked found = look(content, 0, end);
  const uint32_t id = found.unused != kNone && close(found.unused) ? found.unused : close_left(content, end);
  const uint64_t leaving = arena_.header().fold.leaving.load(std::memory_order_relaxed);
  const uint64_t wanted = wanted_leaving();
  if (found.is_hard() && leaving < (id != kNone ? wanted : end / 2)) {
    let_leave(found.idle);
    if (leaving < wanted - wanted / 4) {
      let_leave(look(content, 0, end).idle);  // there were times when none could leave
    }
  }
  return id != kNone && replace(id, content) ? id : kNone;
}

// The entry that is the first to be a shortened stack, at most.
uint64_t StackTable::border_of_shortened() const {
  std::atomic<uint64_t>& first = arena_.header().fold.first_shortened;
  uint64_t border = 0;
  const uint64_t size_now = size();
  return first.compare_exchange_strong(border, size_now, std::memory_order_relaxed) ? size_now : border;
}

// Before the last new entries are taken: so that there are others when they are.
void StackTable::prepare_leaving(const Content& content) {
  if (fresh_for(content) + arena_.header().fold.leaving.load(std::memory_order_relaxed) < wanted_leaving()) {
    const Looked found = look(content, 0, border_of_shortened());
    if (found.is_hard()) {
      let_leave(found.idle);
    }
  }
}

// Nobody finds it any more.
void StackTable::let_leave(uint32_t id) {
  if (id == kNone) {
    return;
  }
  StackEntry& e = entries_[id];
  const uint64_t hash = e.hash.load(std::memory_order_relaxed);
  uint32_t uses = e.uses.load(std::memory_order_relaxed);
  if ((uses & (StackEntry::kClosed | StackEntry::kLeaving)) == 0 &&
      e.uses.compare_exchange_strong(uses, uses | StackEntry::kLeaving, std::memory_order_relaxed)) {
    ArenaHeader& header = arena_.header();
    e.since.store(static_cast<uint32_t>(header.leaving.events.load(std::memory_order_relaxed)),
                  std::memory_order_relaxed);
    header.fold.leaving.fetch_add(1, std::memory_order_relaxed);
    index_.remove(hash, id);
    // Twice: whoever has a sample of it at hand may not have entered it yet.
    raise(header.leaving.move_until,
          header.fold.live_hand.load(std::memory_order_relaxed) +
              2 * slots_before(header.live_levels.open.load(std::memory_order_relaxed)));
  }
}

uint32_t StackTable::intern_shorter_than(uint32_t id) {
  bool is_new = false;
  return intern_shorter_than(entries_[id], &is_new);
}

uint32_t StackTable::intern_shorter_than(const StackEntry& e, bool* is_new) {
  return intern_shorter([this, &e](uint32_t i) { return frame(e, i); }, e.depth,
                        static_cast<platform::Walk>(e.walk & kWalkMask), e.heap, is_new);
}

uint32_t StackTable::intern_shorter(const uint64_t* frames, uint32_t depth, platform::Walk walk,
                                    uint32_t heap, bool* is_new) {
  return intern_shorter([frames](uint32_t i) { return frames[i]; }, depth, walk, heap, is_new);
}

void StackTable::begin_move(uint32_t from, uint32_t to) const {
  FoldState& state = arena_.header().fold;
  const uint64_t number = state.begun.fetch_add(1, std::memory_order_acq_rel);
  FoldRecord& record = arena_.at<FoldRecord>(kFoldSection)[number % kFoldLogPlaces];
  record.number.store(0, std::memory_order_release);
  record.entries.store(from | uint64_t{to} << 32, std::memory_order_release);
  record.number.store(number + 1, std::memory_order_release);
}

void StackTable::end_move() const {
  arena_.header().fold.done.fetch_add(
      1, std::memory_order_release);  // pairs with the acquire in snapshot_stacks.cc
}

void StackTable::move_sample(uint32_t from, uint32_t to, uint64_t size_bytes, const Weight& first,
                             const Weight& now) {
  add_allocated(to, size_bytes, first);
  add_new_weight(to, first, now);
  StackEntry& e = entries_[from];
  e.allocated.samples.fetch_sub(1, std::memory_order_release);
  e.allocated.size_bytes.fetch_sub(size_bytes, std::memory_order_relaxed);
  add(e.allocated.weight_bytes, -first.bytes);
  add(e.allocated.weight_count, -first.count);
  const double missed = 1.0 - first.probability;
  add(e.variance_bytes, -missed * first.bytes * first.bytes);
  add(e.variance_count, -missed * first.count * first.count);
  add_new_weight(from, now, first);
  count(arena_.header().statistics.frames, e.depth - uint64_t{entries_[to].depth});
}

// `from` is closed: its units are nobody else's.  Where `to` has none it gets the unit itself, so that a fold
// needs no new ones; a unit that is emptied stays for the next stack of its entry.
void StackTable::move_lifetimes(StackEntry* from, StackEntry* to) const {
  for (uint32_t unit = 0; unit < kLifetimeUnits; ++unit) {
    const uint32_t ref = from->units[unit].load(std::memory_order_acquire);
    if (ref == 0) {
      continue;
    }
    uint32_t other = 0;
    if (to->units[unit].compare_exchange_strong(other, ref, std::memory_order_acq_rel,
                                                std::memory_order_acquire)) {
      from->units[unit].store(0, std::memory_order_relaxed);
      continue;
    }
    for (uint32_t i = 0; i < kUnitClasses; ++i) {
      if (unit_classes(ref)[i].samples.load(std::memory_order_relaxed) != 0) {
        move_totals(&unit_classes(ref)[i], &unit_classes(other)[i]);
      }
    }
  }
}

// Of an entry that is closed.  true: nothing is left of it, and the fold has begun and is not done.
bool StackTable::fold(uint32_t id) {
  if (!arena_.use_up_to(kFoldSection, arena_.section(kFoldSection).capacity_bytes)) {
    return false;
  }
  StackEntry& e = entries_[id];
  const auto walk = static_cast<platform::Walk>(e.walk & kWalkMask);
  bool is_new = false;
  const uint32_t to =
      kind_of(e) == StackKind::kWhole ? intern_shorter_than(e, &is_new) : intern_rest(walk, e.heap, &is_new);
  if (to == kNone) {
    return false;
  }
  index_.remove(e.hash.load(std::memory_order_relaxed), id);
  begin_move(id, to);
  count(arena_.header().later_statistics.folded_stacks);
  e.ready.store(0, std::memory_order_release);
  // Frames are counted as samples times depth.
  const uint64_t samples = e.allocated.samples.load(std::memory_order_relaxed);
  count(arena_.header().statistics.frames, samples * (e.depth - uint64_t{entries_[to].depth}));
  move_sums(&e, &entries_[to]);
  move_lifetimes(&e, &entries_[to]);
  PeakTable(arena_).fold(id, to);
  e.folded_to.store(to, std::memory_order_relaxed);
  release(to);
  callers_.release(e.callers);
  store_once(&e.callers, uint32_t{0});
  e.reuse.fetch_add(1, std::memory_order_release);
  return true;
}

}  // namespace memprof
