// SPDX-License-Identifier: Apache-2.0
// When what readers can no longer find may be freed: readers never wait, the writer frees later.
//
// Model: two counts of readers, one of which is counted up at a time.  The writer first makes what it takes
// away unreachable, then changes to the other count; when the count from before is 0, nobody can have it.
//
//     epoch 0:  readers enter [0]      unlinked now: fresh
//     epoch 1:  readers enter [1]      fresh became waiting; freed when [0] is 0; then epoch 2 may begin
//
// Threads: any number of readers; the writer is one at a time (its lock).
// Signals: safe for readers.  A reader that a handler leaves by longjmp is counted for good: nothing is freed
// from then on.  fork: reset_in_child, because the readers of other threads are gone.
// Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

namespace memprof::unwind {

class ReadEpochs {
 public:
  static constexpr uint32_t kNone = 2;

  // What is reachable after this stays valid until end().  kNone: the writer changed the count each time;
  // nothing may be read.
  uint32_t begin() {
    constexpr int kTries = 8;
    for (int i = 0; i < kTries; ++i) {
      const uint32_t count = epoch_.load(std::memory_order_seq_cst) & 1;
      // Sequentially consistent, as the writer's change and its look at the count: either it sees us, or we
      // see the change.
      readers_[count].fetch_add(1, std::memory_order_seq_cst);
      if ((epoch_.load(std::memory_order_seq_cst) & 1) == count) {
        return count;
      }
      end(count);
    }
    return kNone;
  }
  // Pairs with the acquire in is_left: what was read comes before what is done with the memory then.
  void end(uint32_t count) { readers_[count].fetch_sub(1, std::memory_order_release); }

  // For the writer.  Are the readers from before the last change gone?
  bool is_left() const {
    const uint32_t before = 1 - (epoch_.load(std::memory_order_relaxed) & 1);
    return readers_[before].load(std::memory_order_seq_cst) == 0;
  }
  // Only if is_left().
  void change() { epoch_.fetch_add(1, std::memory_order_seq_cst); }

  void reset_in_child() {
    readers_[0].store(0, std::memory_order_relaxed);
    readers_[1].store(0, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> readers_[2]{};
};

}  // namespace memprof::unwind
