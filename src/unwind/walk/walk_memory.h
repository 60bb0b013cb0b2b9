// SPDX-License-Identifier: Apache-2.0
// What the walk before found on this stack, so that the next one looks up only what is new.
//
// Model: how a frame is left depends on where the walk is (code address, stack pointer, frame pointer), on the rule of
// that address, and on the words that the rule reads: the return address, and mostly the saved frame pointer.  So where
// a walk comes to a frame at which the one before was with the same three, it goes on as that one did for as long as
// these words still hold what they held, without a rule; none of these comparisons waits for another one.  The first
// word that differs ends that, and the walk goes on by rules until it meets the older one again.
//     before   [leaf ... ][ callers ................. root ]
//     now      [leaf ..... ]^ the same place: the words are compared from here on
// Only frames that were left by a rule of the cache (unwind/tables/rule_cache.h) are remembered, and only until
// anything is unloaded: as long as that cache may be believed.
//
// Two banks take turns: one is read, the other one written.  Which thread a memory was used by is no matter: another
// one's frames are nowhere on this stack.
//
// Threads: any number; a memory is taken by an atomic exchange (acquire) and given back (release).
// Signals: a handler takes another one.  fork: a child gives back those that other threads had in the parent.
// Allocates: never (544 KiB of zero pages, resident where touched: 64 bytes a frame).
// Failure: nullptr when all are taken.
#pragma once

#include <atomic>
#include <cstdint>

#include "unwind/walk/frame_list.h"

namespace memprof::unwind {

class WalkMemory {
 public:
  static constexpr uint32_t kMemories = 8;
  static constexpr uint32_t kFrames = FrameList::kMaxFrames;

  // How frame i was reached from frame i - 1: where its frame pointer was saved, or one of these.
  static constexpr uint64_t kSameBp = 0;
  static constexpr uint64_t kNotRemembered = 1;

  // Rows that are read and written side by side: at distances that are no multiple of a page, or they would push each
  // other out of the first cache, and a load would wait for the store to another one.
  static constexpr uint32_t kRow = kFrames + 64;
  struct Bank {
    uint32_t count;
    uint32_t ticket;  // RuleCache::ticket() of its walk
    uint64_t frames[kRow];
    uint64_t stack_pointers[kRow];
    uint64_t frame_pointers[kRow];
    uint64_t saved_at[kRow];
  };

  // One that is most likely the one that `owner`, a thread, had before.
  static WalkMemory* take(uint64_t owner);
  void give_back() { is_taken_.store(false, std::memory_order_release); }
  static void reset_in_child();

  Bank& now() { return banks_[now_]; }
  const Bank& before() const { return banks_[now_ ^ 1]; }

  // Of a walk that writes its frames and stack pointers to now().
  void begin(uint32_t ticket) {
    Bank& old = banks_[now_ ^ 1];
    if (old.ticket != ticket) {
      old.count = 0;
    }
    now().ticket = ticket;
    cursor_ = 0;
  }
  // A frame that was not reached by a rule of the cache.
  void note(size_t i, uint64_t frame_pointer) {
    now().frame_pointers[i] = frame_pointer;
    now().saved_at[i] = kNotRemembered;
  }
  // 0: nothing of it is to be remembered.
  void end(uint32_t depth) {
    now().count = depth;
    now_ ^= 1;
  }

  // The frame of the walk before that is looked at next: those in front of it lie below where the walk is.
  uint32_t& cursor() { return cursor_; }

 private:
  std::atomic<bool> is_taken_;
  uint32_t now_;
  uint32_t cursor_;
  Bank banks_[2];
};

}  // namespace memprof::unwind
