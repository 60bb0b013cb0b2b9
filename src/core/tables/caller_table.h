// SPDX-License-Identifier: Apache-2.0
// The callers that stacks share: pieces of eight frames, each with a reference to the piece of its own callers.
//
// Model: a tree that grows from the root of stacks.  Stacks are cut at fixed distances from their root, so that two
// stacks of the same callers meet in the same pieces, and what a stack has of its own are its innermost one to eight
// frames (core/tables/stack_table.h):
//
//     stack of 21 frames   [ 5 own ] -> [ 8 ] -> [ 8, the last is the root ]
//     stack of 23 frames   [ 7 own ] ---^
//
// An intern index finds a piece by a hash of its frames and of all of its callers.  Most stacks have most callers of the
// one before: what is the same in its pieces is taken from there, without a hash.  Of the others the deepest piece is
// looked for first: where it is known all of its callers are.
//
// A stack holds a use of its innermost piece, a piece one of its callers', and whoever works with one.  What nobody
// uses stays where it is found until the section is full; then a hand gives its place to another piece.  Where no
// place is to be had the stack has the frames that are missing itself.
//
// Threads: any.  A piece that is used stays what it is, but for names that a sweep takes from it
// (core/tables/table_sweep.h); who closes it, by a compare-exchange of its uses, is alone with it.
// Allocates: from its sections; waits: never.
// Failure: 0, which is no piece.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/intern_index.h"

namespace memprof {

inline constexpr uint32_t kPieceFrames = 8;

struct CallerPiece {
  std::atomic<uint32_t> uses;  // with kClosed: it is being made anew
  uint32_t callers;            // the piece of its callers; 0: it ends with the root
  std::atomic<uint64_t> hash;  // of the first entry, which is no piece: the hand
  uint64_t frames[kPieceFrames];

  static constexpr uint32_t kClosed = uint32_t{1} << 31;
};
static_assert(sizeof(CallerPiece) == 80);

// Pieces that a stack of `depth` frames has beside its own.
inline constexpr uint32_t pieces_of(uint32_t depth) {
  return depth == 0 ? 0 : (depth - 1) / kPieceFrames;
}

class CallerTable {
 public:
  CallerTable() = default;
  explicit CallerTable(const Arena& arena);

  // The piece of all frames but the innermost, of which *own are left to the caller, who gets a use of it.  The
  // innermost *unknown are in no piece that was there before.
  uint32_t hold(const uint64_t* frames, uint32_t depth, uint32_t* own, uint32_t* unknown) const;
  // 0 is allowed.
  void release(uint32_t id) const {
    if (id != 0) {
      pieces_[id].uses.fetch_sub(1, std::memory_order_release);
    }
  }

  // Whatever piece it is.  false: it is about to become another one.
  bool hold_any(uint32_t id) const;
  // Nobody finds it any more, unless somebody uses it.
  bool empty(uint32_t id) const;

  CallerPiece& piece(uint32_t id) const { return pieces_[id]; }
  // One more than the last id.
  uint64_t size() const;

  // Opens what so many pieces need of the index.
  void open_for(uint64_t pieces) const { index_.open_for(pieces); }

 private:
  // From the first of a piece to the root.
  struct Frames {
    const uint64_t* first;
    const uint64_t* end;
  };
  // A piece, and how many it is with its callers.
  struct Chain {
    uint32_t piece;
    uint32_t pieces;
  };
  // What a stack with so many pieces, the last of which ends before `end`, has of the one before; it gets a use of it.
  Chain hold_common(const uint64_t* end, uint32_t pieces) const;
  bool is(uint32_t id, uint64_t hash, const Frames& frames) const;
  bool hold(uint32_t id, uint64_t hash, const Frames& frames) const;
  uint32_t intern(uint64_t hash, uint32_t callers, const Frames& frames) const;
  uint32_t make(uint64_t hash, uint32_t callers, const uint64_t* frames) const;
  uint32_t close_new() const;
  uint32_t close_unused() const;
  bool close(uint32_t id) const;
  void forget(uint32_t id) const;

  Arena arena_;
  InternIndex index_;
  CallerPiece* pieces_ = nullptr;
  mutable uint64_t last_ = 0;  // a Chain of this table, most likely the last one that was held; relaxed
};

}  // namespace memprof
