// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mapping_log.h"

#include "platform/clock.h"
#include "platform/process.h"

namespace memprof {
namespace {

constexpr int kMaxYields = 1000;
constexpr int kMaxWaits = 10;

}  // namespace

// After Vyukov's bounded queue, with one reader at a time.
bool MappingLog::put(const MappingEvent& event) {
  uint64_t number = tail_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = cells_[number % kCells];
    // acquire pairs with the release in drain(): the event before is out.
    const uint64_t turn = cell.turn.load(std::memory_order_acquire) + number % kCells;
    if (turn == number) {
      if (tail_.compare_exchange_weak(number, number + 1, std::memory_order_relaxed)) {
        cell.event = event;
        // Sequentially consistent, as the look in enter_into(): who gives the table back sees this event, or its
        // writer sees that the table is free.
        cell.turn.store(number + 1 - number % kCells, std::memory_order_seq_cst);
        return true;
      }
    } else if (turn < number) {
      return false;
    } else {
      number = tail_.load(std::memory_order_relaxed);
    }
  }
}

bool MappingLog::put_waiting(const MappingEvent& event, MappingTable* table, uint64_t longest_ns) {
  if (put(event)) {
    return true;
  }
  uint64_t head = seen_head_.load(std::memory_order_relaxed);
  if (waited_for_.load(std::memory_order_relaxed) == head + 1) {
    return false;
  }
  // Events are entered, but others take the places: this thread waits on, kMaxWaits times as long at most.
  for (int waits = 0; waits < kMaxWaits; ++waits) {
    const uint64_t end_ns = platform::monotonic_ns() + longest_ns;
    do {
      if (!enter_into(table)) {
        platform::pause_thread();
      }
      if (put(event)) {
        return true;
      }
    } while (platform::monotonic_ns() < end_ns);
    const uint64_t now = seen_head_.load(std::memory_order_relaxed);
    if (now == head) {
      waited_for_.store(head + 1, std::memory_order_relaxed);
      return false;
    }
    head = now;
  }
  return false;
}

bool MappingLog::has_event() const {
  const uint64_t head = seen_head_.load(std::memory_order_seq_cst);
  return cells_[head % kCells].turn.load(std::memory_order_seq_cst) + head % kCells == head + 1;
}

bool MappingLog::enter_into(MappingTable* table) {
  do {
    if (!try_take()) {
      return false;
    }
    drain(table);
    give();
  } while (has_event());
  return true;
}

bool MappingLog::take() {
  for (int i = 0; !try_take(); ++i) {
    if (i == kMaxYields) {
      return false;
    }
    platform::yield_thread();
  }
  return true;
}

void MappingLog::drain(MappingTable* table) {
  for (;;) {
    Cell& cell = cells_[head_ % kCells];
    // acquire pairs with the store in put().
    if (cell.turn.load(std::memory_order_acquire) + head_ % kCells != head_ + 1) {
      return;
    }
    const MappingEvent event = cell.event;
    cell.turn.store(head_ + kCells - head_ % kCells, std::memory_order_release);
    ++head_;
    seen_head_.store(head_, std::memory_order_seq_cst);
    table->begin_change();
    switch (event.kind) {
      case MappingEvent::Kind::kAdd:
        table->add(event.range);
        break;
      case MappingEvent::Kind::kFill:
        table->fill(event.range);
        break;
      case MappingEvent::Kind::kRemove:
        table->remove(event.from, event.from + event.old_bytes, event.ticket);
        break;
      case MappingEvent::Kind::kMove:
      case MappingEvent::Kind::kMoveKeeping:
        table->move(event.from, event.old_bytes, event.range.start, event.new_bytes, event.ticket,
                    event.range, event.kind == MappingEvent::Kind::kMoveKeeping);
        break;
    }
    table->end_change();
  }
}

void MappingLog::reset_in_child() {
  for (Cell& cell : cells_) {
    cell.turn.store(0, std::memory_order_relaxed);
  }
  tail_.store(0, std::memory_order_relaxed);
  head_ = 0;
  seen_head_.store(0, std::memory_order_relaxed);
  waited_for_.store(0, std::memory_order_relaxed);
  is_taken_.store(false, std::memory_order_release);
}

}  // namespace memprof
