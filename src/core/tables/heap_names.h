// SPDX-License-Identifier: Apache-2.0
// Names of the heaps that the program's own allocators report for: name <-> small id, for the life of the
// process.
//
// Model: slots that are filled from the first to the last and never emptied: the program has their ids.  When they are
// used up, further names are all the last one, kOthersName.  A slot is the place of its text
// in a pool; the text is written before the slot, so whoever finds a slot taken can compare at once, and
// nobody waits for anybody.  All of it lies outside the arena, because names may come before there is one;
// attach() copies what there is, and what comes later is copied when it comes.
//
// Threads: any number.  A slot is published by compare-exchange; register and attach each write first and
// then look for what the other wrote, all sequentially consistent, so one of them copies every name.
// Signals: not from a handler.
// Allocates: never, but for its part of an arena.
// Failure: kOthers when the slots or the pool are used up, which is counted.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"

namespace memprof {

class HeapNames {
 public:
  static constexpr uint32_t kUnnamed = 0;
  static constexpr uint32_t kMaxHeaps = 1023;  // ids 1 to kMaxHeaps
  static constexpr uint32_t kOthers = kMaxHeaps;
  static constexpr char kOthersName[] = "[other heaps]";
  static constexpr uint32_t kMaxNameBytes = 127;
  static constexpr uint32_t kPoolBytes = 64 * 1024;  // for names; the last one has its own place behind them

  // The id of the heap of this name (1 to kMaxNameBytes bytes, none of them 0), made if there is none.
  uint32_t find_or_add(const char* name, uint32_t size_bytes);

  bool has(uint32_t id) const {
    return id != kUnnamed && id <= kMaxHeaps && slots_[id].load(std::memory_order_acquire) != 0;
  }
  const char* name(uint32_t id) const { return pool_ + slots_[id].load(std::memory_order_acquire) - 1; }

  // From now on readers of this arena find the names.
  void attach(const Arena& arena);
  // They find none from now on.
  void detach() { arena_.store(nullptr, std::memory_order_seq_cst); }
  // Copies one name, or all, into the arena that is attached, if one is.  Only where that is this process's:
  // after a fork the child attaches its own.
  void publish(uint32_t id) const;
  void publish_all() const;

 private:
  uint32_t write(const char* name, uint32_t size_bytes);
  uint32_t share();

  std::atomic<uint64_t> shared_;                // names that are not known
  std::atomic<uint32_t> slots_[kMaxHeaps + 1];  // 1 + place in the pool; 0: free
  std::atomic<uint32_t> pool_used_;
  char pool_[kPoolBytes + sizeof(kOthersName)];
  std::atomic<ArenaHeader*> arena_;
};

// In the arena, for each id: 1 + name id (core/tables/name_table.h), 0 where there is no such heap.  Stored
// with release, read with acquire.
using HeapEntry = std::atomic<uint32_t>;

}  // namespace memprof
