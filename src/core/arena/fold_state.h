// SPDX-License-Identifier: Apache-2.0
// What the header of an arena knows of stacks that give their places to others.
#pragma once

#include <atomic>
#include <cstdint>

namespace memprof {

// Stacks that gave their place away (core/tables/stack_folding.cc).  `done` comes first: a reader that copies
// upward, and finds both equal, knows that nothing was being moved.
struct FoldState {
  std::atomic<uint64_t> done;
  std::atomic<uint64_t> begun;      // the number of the next fold, which has its place in the log by it
  std::atomic<uint64_t> hands[2];   // the entry that is looked at next: of whole stacks, of shortened ones
  std::atomic<uint64_t> leaving;    // entries whose live samples are being moved to shortened stacks
  std::atomic<uint64_t> live_hand;  // the slot of the live map that is looked at next for them
  // Before this entry there are whole ones only; 0: none is shortened yet.
  std::atomic<uint64_t> first_shortened;
};
// More of it, which only the process itself reads.  All relaxed.
struct LeavingState {
  std::atomic<uint64_t> end;        // the entries before it are those of whole stacks; 0: not full yet
  std::atomic<uint64_t> hand;       // the entry that is looked at next for one that has left
  std::atomic<uint64_t> shortened;  // entries that were made for shortened stacks
  std::atomic<uint64_t> events;     // whole stacks that were written, ever
  // Of the looks for an entry that nobody uses, how many are not worth it, because these are rare.
  std::atomic<uint64_t> spared_looks;
  std::atomic<uint64_t> move_until;  // FoldState::live_hand, when each slot was looked at twice
};

}  // namespace memprof
