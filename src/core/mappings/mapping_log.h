// SPDX-License-Identifier: Apache-2.0
// What threads say of their mappings, in a ring, until one of them enters it into the table.
//
// Model: a thread writes an event to the ring and then tries to take the table.  Who has it enters all events that
// are there; who does not get it leaves its event to who has it, and goes on.  So nobody waits for anybody, and a
// signal handler that interrupts the thread that has the table may map memory itself.
//
//     cell    turn = n: free for event n;  n + 1: written;  n + kCells: free for the next round
//
// Threads, signals: any.
// fork: a child calls reset_in_child() before its first event.
// Allocates: never.
// Failure: a full ring (whoever has the table does not run): put() is false, put_waiting() after a while.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/mappings/mapping_table.h"

namespace memprof {

struct MappingEvent {
  enum class Kind : uint32_t { kRemove, kAdd, kFill, kMove, kMoveKeeping };
  Kind kind = Kind::kRemove;
  MappedRange range;       // kAdd, kFill; kMove: `start` is where it is now, the rest is of what it grew by
  uint64_t from = 0;       // kMove, kRemove
  uint64_t old_bytes = 0;  // likewise
  uint64_t new_bytes = 0;  // kMove
  uint64_t ticket = 0;     // drawn before the call
};

class MappingLog {
 public:
  static constexpr uint32_t kCells = 512;

  // Of zeros, and before any code runs: hooks may come before the constructors of this library.
  constexpr MappingLog() = default;

  bool put(const MappingEvent& event);
  // Where the ring is full, waits for who has the table, as long as events are entered within `longest_ns`.  Once none
  // was (a thread was jumped out of a signal handler), no thread waits until something is entered.
  bool put_waiting(const MappingEvent& event, MappingTable* table, uint64_t longest_ns);
  // Enters what is there, unless another thread is at it, which then will.  false: somebody else has the table.
  bool enter_into(MappingTable* table);
  // Has the table for itself meanwhile, as far as that is to be had in bounded time.
  template <typename Use>
  bool with_table(MappingTable* table, const Use& use) {
    if (!take()) {
      return false;
    }
    drain(table);
    use();
    give();
    enter_into(table);
    return true;
  }

  void reset_in_child();

 private:
  struct Cell {
    std::atomic<uint64_t> turn{0};  // less the cell's number, so that zeros are a free ring
    MappingEvent event;
  };
  bool try_take() { return !is_taken_.exchange(true, std::memory_order_seq_cst); }
  bool take();
  void give() { is_taken_.store(false, std::memory_order_seq_cst); }
  bool has_event() const;
  void drain(MappingTable* table);

  std::atomic<uint64_t> tail_{0};  // the next event's number
  uint64_t head_ = 0;              // of who has the table
  std::atomic<uint64_t> seen_head_{0};
  std::atomic<uint64_t> waited_for_{0};  // 1 and the head at which a wait was in vain
  std::atomic<bool> is_taken_{false};
  Cell cells_[kCells]{};
};

}  // namespace memprof
