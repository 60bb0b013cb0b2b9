// SPDX-License-Identifier: Apache-2.0
// A lock-free hash index: content -> 32-bit id.  The stack table and the name table are built on it.
//
// Model: levels of buckets (core/arena/levels.h) of words
//     63 ............ 32 31 ............ 0
//     `- hash, high half' `-- id + 1 ---'      0: empty
// The slots of a bucket fill from the first to the last and are never emptied.  Two threads that intern the
// same content at once both meet at the first empty slot of the same bucket: one compare-exchange wins, the
// other reads what won and finds its own content, so nothing is entered twice.  An entry that is removed
// leaves its slot marked, and the next one that comes by takes it; then two threads can take two such slots
// for the same content, which is there twice until one of them is removed.
//
// Threads: any number of writers and readers.  A slot is published with release after its content is written,
// and read with acquire.
// Allocates: levels of its section.
// Failure: kNone when every level's bucket is full or memory is refused.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"

namespace memprof {

// What readers of the arena may look at meanwhile: each part is written as a whole.
template <typename T>
inline void store_once(T* field, T value) {
  __atomic_store_n(field, value, __ATOMIC_RELAXED);
}
inline void store_bytes(void* to, const void* from, uint64_t size_bytes) {
  for (uint64_t i = 0; i < size_bytes; ++i) {
    store_once(static_cast<uint8_t*>(to) + i, static_cast<const uint8_t*>(from)[i]);
  }
}

class InternIndex {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  InternIndex() = default;
  InternIndex(const Arena& arena, SectionId section, LevelsHead* levels)
      : arena_(arena), section_(section), levels_(levels), slots_(arena.at<std::atomic<uint64_t>>(section)) {}

  // Asks for the lines that a lookup of `hash` reads.
  void prefetch(uint64_t hash) const {
    const uint32_t open = levels_->open.load(std::memory_order_relaxed);
    for (uint32_t level = 0; level < open && level < kPrefetchedLevels; ++level) {
      __builtin_prefetch(slots_ + bucket_slot(hash, level));
    }
  }

  // The first id whose hash has the same high half; kNone: nothing of this hash is there.
  uint32_t find_likely(uint64_t hash) const {
    return find_or_insert(hash, [](uint32_t) { return true; }, [] { return kNone; });
  }

  // With so many entries: has the system give some of the memory that the next level needs, if that is near.
  void prepare(uint64_t entries) const {
    const uint32_t open = levels_->open.load(std::memory_order_relaxed);
    if (__builtin_expect(is_next_level_near(entries, open) && open < levels_->limit, 0)) {
      arena_.commit_next(section_, slots_before(open + 1) * sizeof(uint64_t));
    }
  }

  // Opens levels until there is room for so many entries.
  void open_for(uint64_t entries) const {
    for (uint32_t level = levels_->open.load(std::memory_order_acquire);
         level < levels_for_keys(entries) && open_level(level); ++level) {
    }
  }

  // Finds the id whose content satisfies same(id), or enters the one that make() returns (kNone: it could
  // not; nothing is entered).  make() is called at most once; what it made is wasted if another thread was
  // faster.
  template <typename Same, typename Make>
  uint32_t find_or_insert(uint64_t hash, const Same& same, const Make& make) const {
    const uint64_t tag = hash & ~uint64_t{UINT32_MAX};
    uint32_t made = kNone;
    std::atomic<uint64_t>* removed = nullptr;
    const auto enter = [&](std::atomic<uint64_t>* slot, uint64_t* word) {
      return slot->compare_exchange_strong(*word, tag | (uint64_t{made} + 1), std::memory_order_acq_rel,
                                           std::memory_order_acquire);
    };
    for (uint32_t level = 0;; ++level) {
      if (level >= levels_->open.load(std::memory_order_acquire) &&
          (removed != nullptr || !open_level(level))) {
        uint64_t word = kRemoved;
        return removed != nullptr && (made != kNone || (made = make()) != kNone) && enter(removed, &word)
                   ? made
                   : kNone;
      }
      std::atomic<uint64_t>* bucket = slots_ + bucket_slot(hash, level);
      for (uint32_t i = 0; i < kBucketSlots; ++i) {
        uint64_t word = bucket[i].load(std::memory_order_acquire);  // pairs with the exchange below
        if (word == kRemoved) {
          removed = removed != nullptr ? removed : &bucket[i];
          continue;
        }
        if (word == 0) {
          if (made == kNone && (made = make()) == kNone) {
            return kNone;
          }
          uint64_t expected = kRemoved;
          if ((removed != nullptr && enter(removed, &expected)) || enter(&bucket[i], &word)) {
            return made;
          }
        }
        const uint32_t id = static_cast<uint32_t>(word) - 1;
        if ((word & ~uint64_t{UINT32_MAX}) == tag && same(id)) {
          return id;
        }
      }
    }
  }

  // Takes `id` out, which was entered under `hash`.  Only the one who owns the content calls it.
  void remove(uint64_t hash, uint32_t id) const;

 private:
  static constexpr uint64_t kRemoved = uint64_t{UINT32_MAX};  // the word of no id
  static constexpr uint32_t kPrefetchedLevels = 4;            // who is further up has missed already

  bool open_level(uint32_t level) const;

  Arena arena_;
  SectionId section_ = kStackIndexSection;
  LevelsHead* levels_ = nullptr;
  std::atomic<uint64_t>* slots_ = nullptr;
};

}  // namespace memprof
