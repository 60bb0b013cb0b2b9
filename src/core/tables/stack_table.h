// SPDX-License-Identifier: Apache-2.0
// Frames and heap -> stack id, and the running totals of each stack.  (Of what malloc gave, the heap is 0.)
//
// Model: an intern index (core/arena/intern_index.h) over entries; an entry points to its innermost frames in a row
// of words, and to the piece that has the others, which it shares with other stacks (core/tables/caller_table.h).  A
// stack is known by 128 bits of hash (StackKey), so that finding it again touches no frames.
//
// A full table has room for new stacks (core/tables/stack_folding.cc): one that nobody uses and that was not
// sampled for long gives its sums to a shorter one, [older stacks] where its frames were, and its place away.
// Whoever works with an id, and each live sample, holds a use of it: it stays what it is.  After that the id
// can become another stack's, and `reuse` tells them apart.
//
// What was freed is kept by how long it lived (format/lifetime_class.h), in units of five classes that an entry
// gets when it first needs them, from a section that all stacks share.  A unit stays with its entry, or goes to
// the stack that gets the sums.  What a unit was refused for counts in StackEntry::freed: all of them together
// are what was freed.
//
// Threads: any number.  An entry is published with its frames written; totals are relaxed atomics, each right
// by itself (a snapshot may see one sample in some of them and not yet in others).
// Allocates: from its sections.
// Failure: kNone when the system has no memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/intern_index.h"
#include "core/sampling/weight.h"
#include "core/tables/caller_table.h"
#include "format/lifetime_class.h"
#include "platform/stack.h"

namespace memprof {

// Sums over samples: what estimates and their intervals need when the samples are no longer at hand (shared
// with memprof_totals; docs/accuracy.md says how they are used).
struct StackTotals {
  std::atomic<uint64_t> samples;
  std::atomic<uint64_t> size_bytes;
  std::atomic<double> weight_bytes;
  std::atomic<double> weight_count;
};

// In this order, and read in the other one (core/reader/snapshot_stacks.cc): the sums that a reader finds are
// never of fewer samples than it counts.
inline void add_totals(StackTotals* totals, uint64_t size_bytes, const Weight& weight) {
  add(totals->weight_bytes, weight.bytes);
  add(totals->weight_count, weight.count);
  totals->size_bytes.fetch_add(size_bytes, std::memory_order_release);
  totals->samples.fetch_add(1, std::memory_order_release);
}

// What was freed of neighbouring classes of lifetimes: half a cache line each.
inline constexpr uint32_t kUnitClasses = 5;
inline constexpr uint32_t kLifetimeUnits = (kLifetimeClasses + kUnitClasses - 1) / kUnitClasses;
struct LifetimeUnit {
  StackTotals classes[kUnitClasses];
};
static_assert(sizeof(LifetimeUnit) % 32 == 0);
// Units that there are for a stack, on average (docs/decisions/0064-lifetimes.md has what programs use).
inline constexpr uint64_t kMeanUnits = 2;

// Three cache lines: a sample of a known stack reads the first and adds to the first two, its free reads the
// third and adds to a class of lifetimes.
struct alignas(64) StackEntry {
  std::atomic<uint16_t> ready;  // 1: the fields down to the totals are written (release; readers acquire)
  uint16_t heap;                // core/tables/heap_names.h
  uint16_t depth;
  uint8_t walk;  // platform::Walk, and StackKind above it
  uint8_t room;  // frames that there is room for, in units of kFrameUnit
  std::atomic<uint64_t> hash;
  std::atomic<uint64_t> check;
  uint64_t first_frame;  // of its own, the innermost: offset in the frame section
  StackTotals allocated;

  alignas(64) std::atomic<double> variance_bytes;  // sum of (1-p) w^2
  std::atomic<double> variance_count;
  std::atomic<double> max_missed_bytes;  // largest Weight::missed_bytes()
  std::atomic<double> max_missed_count;
  std::atomic<uint32_t> seen;       // samples, low half, when it was last looked at for folding
  std::atomic<uint32_t> folded_to;  // who got the sums of the stack that was here before
  std::atomic<uint32_t> since;      // LeavingState::events, when it was written or began to leave
  // From version 13 on; before, all frames are its own.
  uint32_t callers;  // the piece of the frames behind its own; 0: there are none
  uint16_t own;      // how many of `depth` are its own

  alignas(64) StackTotals freed;  // what is in no class of lifetimes
  // Of each the index and 1; 0: none yet (written by compare-exchange, release; readers acquire).  Before
  // version 8: the sum of lifetimes times blocks as a double, the least and one, and the most.
  alignas(8) std::atomic<uint32_t> units[kLifetimeUnits];
  // Live samples, and threads that work with it; with kClosed: it is being made anew; with kLeaving: it gets
  // no more samples, and its live ones go to a shorter stack.
  std::atomic<uint32_t> uses;
  std::atomic<uint32_t> reuse;  // how often it became another stack; before `ready` (release)

  static constexpr uint32_t kClosed = uint32_t{1} << 31;
  static constexpr uint32_t kLeaving = uint32_t{1} << 30;
};
static_assert(sizeof(StackEntry) == 192);

// How much of a stack an entry still has.
enum class StackKind : uint8_t { kWhole = 0, kShortened = 1, kRest = 2 };
inline constexpr uint32_t kStackKindShift = 6;  // in StackEntry::walk
inline constexpr uint8_t kWalkMask = (1 << kStackKindShift) - 1;
static_assert(platform::kWalkReasons <= kWalkMask);
inline StackKind stack_kind(uint8_t walk) {
  return static_cast<StackKind>(walk >> kStackKindShift);
}

// Room for frames is handed out in units, so that the next stack at its place finds room for its own.
inline constexpr uint32_t kFrameUnit = 8;
static_assert(kMaxDepth / kFrameUnit <= UINT8_MAX && kFrameUnit == kPieceFrames);

// What a live sample keeps of its stack: its id, and which of the stacks that had that id.
inline constexpr uint32_t kStackIdBits = 24;
static_assert(kMaxStacks <= uint64_t{1} << kStackIdBits);
inline uint32_t stack_id_of(uint32_t ref) {
  return ref & ((uint32_t{1} << kStackIdBits) - 1);
}
inline uint32_t stack_ref(uint32_t id, uint32_t reuse) {
  return id | reuse << kStackIdBits;
}

// A fold, for readers who copy the table meanwhile: both entries are to be read again.
struct FoldRecord {
  std::atomic<uint64_t> number;   // of the fold, and 1; release, before and after `entries` are written
  std::atomic<uint64_t> entries;  // the one that is made anew, and in the high half the one that got its sums
};
inline constexpr uint64_t kFoldLogPlaces = 4096;

// Slots of the live map that an event looks at for samples of stacks that leave (core/engine/thinning.h).
inline constexpr uint64_t kMoveSlots = 512;
// Stacks that stay whole, as the newest ones; of a table that is small, a quarter.
inline constexpr uint64_t kNewestStacks = 1280;

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

class TableSweep;

class StackTable {
 public:
  static constexpr uint32_t kNone = InternIndex::kNone;

  StackTable() = default;
  explicit StackTable(const Arena& arena);

  // Hears of each stack that is written (core/tables/table_sweep.h).
  void set_sweep(TableSweep* sweep) { sweep_ = sweep; }

  // Finds or enters a stack; the caller holds a use of it.  Where there is no room, and none can be made, of a
  // shorter one in its place.  *is_new becomes true when this call entered it.  `unknown`: so many of the frames, from
  // the leaf on, were in nothing that was known before this call; also where it is not new, because another thread was
  // faster.
  uint32_t intern(const StackKey& key, const uint64_t* frames, uint32_t depth, platform::Walk walk,
                  bool* is_new, uint32_t heap = 0, uint32_t* unknown = nullptr);
  uint32_t intern(const uint64_t* frames, uint32_t depth, platform::Walk walk, bool* is_new,
                  uint32_t heap = 0) {
    return intern(stack_key(frames, depth, walk, heap), frames, depth, walk, is_new, heap);
  }

  // The same in steps, so that other work can go on while memory answers: prefetch, later find_likely (which
  // asks for the entry), later hold().  kNone: not there.
  void prefetch(const StackKey& key) const { index_.prefetch(key.hash); }
  uint32_t find_likely(const StackKey& key) const;
  // Takes a use of it.  false: it is another stack, or about to become one.
  bool hold(uint32_t id, const StackKey& key) const;
  // The same of what a live sample keeps, which may be freed meanwhile.
  bool hold_ref(uint32_t ref) const;
  // The same of whatever stack it is now.  false: it is about to become another one.
  bool hold_any(uint32_t id) const;
  // Gives it back: the sample is gone, or was not entered.
  void release(uint32_t id) const { entries_[id].uses.fetch_sub(1, std::memory_order_release); }
  // While it is held.
  uint32_t ref(uint32_t id) const {
    return stack_ref(id, entries_[id].reuse.load(std::memory_order_relaxed));
  }

  // Opens what so many stacks need of the indexes.
  void open_for(uint64_t stacks) const {
    index_.open_for(stacks);
    callers_.open_for(2 * stacks);
  }

  void add_allocated(uint32_t id, uint64_t size_bytes, const Weight& weight);
  void prefetch_freed(uint32_t id) const { __builtin_prefetch(&entries_[id].freed, 1); }
  // Where to add what was freed after so long, in steps as above: this asks for the line.
  StackTotals* freed_sums(uint32_t id, uint64_t lifetime_ns);
  // Where to add what the end of the process frees: it is in no class of lifetimes.
  StackTotals* freed_at_end(uint32_t id) const { return &entries_[id].freed; }
  void add_freed(uint32_t id, uint64_t size_bytes, const Weight& weight, uint64_t lifetime_ns) {
    add_totals(freed_sums(id, lifetime_ns), size_bytes, weight);
  }

  // A live sample was taken out and others stand for it, or it stands for others (core/engine/thinning.h): both
  // are freed sums, so that what was allocated stays, and the rest is what is live.
  // Is the stack leaving?  Then its live samples move, one by one.
  void prefetch_uses(uint32_t ref) const { __builtin_prefetch(&entries_[stack_id_of(ref)].uses); }
  bool is_leaving(uint32_t ref) const {
    return (entries_[stack_id_of(ref)].uses.load(std::memory_order_relaxed) & StackEntry::kLeaving) != 0;
  }
  // Of a stack that is held: the shorter one, held as well; kNone: the system has no memory.
  uint32_t intern_shorter_than(uint32_t id);
  // What a sample has of the sums of one stack becomes the other's: what it stood for when it was allocated
  // (`first`), and the difference to what it stands for now, which add_new_weight() added.
  void move_sample(uint32_t from, uint32_t to, uint64_t size_bytes, const Weight& first, const Weight& now);
  // Around it, and what belongs to it (core/tables/peak.h): readers read both stacks again.
  void begin_move(uint32_t from, uint32_t to) const;
  void end_move() const;

  void add_thinned(uint32_t id, uint64_t size_bytes, const Weight& weight);
  void add_new_weight(uint32_t id, const Weight& before, const Weight& now);
  // Where nobody will know what it stood for at first: as if it had always stood for so much.
  void replace_weight(uint32_t id, const Weight& before, const Weight& now);

  StackEntry& entry(uint32_t id) const { return entries_[id]; }
  uint64_t size() const;
  const CallerTable& callers() const { return callers_; }
  // A frame of a stack that is held, or closed; leaf first.
  uint64_t frame(const StackEntry& e, uint32_t i) const;

 private:
  // What is written to an entry.
  struct Content {
    StackKey key;
    const uint64_t* frames;
    uint32_t depth;
    platform::Walk walk;
    uint32_t heap;
    StackKind kind;
    uint32_t own = depth;  // of its frames; the others are in `callers`
    uint32_t callers = 0;  // of which the entry gets the use
    uint32_t* unknown = nullptr;
  };
  bool is(uint32_t id, const StackKey& key) const {
    return entries_[id].hash.load(std::memory_order_relaxed) == key.hash &&
           entries_[id].check.load(std::memory_order_relaxed) == key.check;
  }
  uint32_t intern(const Content& content, bool* is_new);
  template <typename FrameAt>
  uint32_t intern_shorter(const FrameAt& frame_at, uint32_t depth, platform::Walk walk, uint32_t heap,
                          bool* is_new);
  uint32_t intern_shorter(const uint64_t* frames, uint32_t depth, platform::Walk walk, uint32_t heap,
                          bool* is_new);
  uint32_t intern_shorter_than(const StackEntry& e, bool* is_new);
  uint32_t intern_rest(platform::Walk walk, uint32_t heap, bool* is_new);
  uint32_t make(const Content& content);
  uint32_t make_with_callers(const Content& content);
  uint32_t make_new(const Content& content);
  uint32_t make_anew(const Content& content);
  // Of entries that nobody had yet.
  uint64_t fresh_for(const Content& content) const;
  // What the hand came by.
  struct Looked {
    uint32_t unused = kNone;
    uint32_t idle = kNone;  // the first that nobody samples, but samples of it live
    uint32_t looks = 0;
    // Are those that nobody uses few?
    bool is_hard() const { return unused == kNone || looks >= 8; }
  };
  Looked look(const Content& content, uint64_t first, uint64_t entries);
  bool close(uint32_t id) const;
  uint32_t close_left(const Content& content, uint64_t entries);
  bool replace(uint32_t id, const Content& content);
  void prepare_leaving(const Content& content);
  uint64_t border_of_shortened() const;
  uint64_t wanted_leaving() const;
  bool is_fit(const StackEntry& e, const Content& content) const;
  uint32_t age_of(const StackEntry& e) const;
  void write(uint32_t id, const Content& content);
  bool fold(uint32_t id);
  void move_lifetimes(StackEntry* from, StackEntry* to) const;
  void let_leave(uint32_t id);
  StackTotals* make_unit(StackEntry* e, uint32_t unit);
  StackTotals* unit_classes(uint32_t ref) const { return units_[ref - 1].classes; }

  Arena arena_;
  InternIndex index_;
  CallerTable callers_;
  StackEntry* entries_ = nullptr;
  LifetimeUnit* units_ = nullptr;
  TableSweep* sweep_ = nullptr;
};

}  // namespace memprof
