// SPDX-License-Identifier: Apache-2.0
#include "core/tables/caller_table.h"

namespace memprof {
namespace {

__extension__ using Uint128 = unsigned __int128;

// Pieces that one new stack looks at for a place.
constexpr uint32_t kCallerLooks = 32;

// Of the deepest pieces of a stack, those that are looked for before all are from the root on.
constexpr uint32_t kKeptHashes = 16;

// NH of UMAC, as stack_key() has it, and what the callers' is.
uint64_t hash_of(const uint64_t* frames, uint64_t of_callers) {
  constexpr uint64_t kKeys[kPieceFrames] = {
      0x9ae16a3b2f90404full, 0xc3a5c85c97cb3127ull, 0xb492b66fbe98f273ull, 0x2d358dccaa6c78a5ull,
      0x8bb84b93962eacc9ull, 0x4b33a62ed433d4a3ull, 0x4d5a2da51de1aa47ull, 0xa0761d6478bd642full};
  Uint128 sum = of_callers;
  for (uint32_t i = 0; i < kPieceFrames; i += 2) {
    sum += static_cast<Uint128>(frames[i] + kKeys[i]) * (frames[i + 1] + kKeys[i + 1]);
  }
  const auto low = static_cast<uint64_t>(sum);
  const auto high = static_cast<uint64_t>(sum >> 64);
  return mix_hash(low ^ (high << 32 | high >> 32));
}

// A sweep may write there.
bool has_frames(const CallerPiece& piece, const uint64_t* frames) {
  uint64_t differences = 0;
  for (uint32_t i = 0; i < kPieceFrames; ++i) {
    differences |= __atomic_load_n(piece.frames + i, __ATOMIC_RELAXED) ^ frames[i];
  }
  return differences == 0;
}

}  // namespace

CallerTable::CallerTable(const Arena& arena)
    : arena_(arena),
      index_(arena, kCallerIndexSection, &arena.header().caller_levels),
      pieces_(arena.at<CallerPiece>(kCallerSection)) {}

uint64_t CallerTable::size() const {
  return arena_.section(kCallerSection).used_bytes.load(std::memory_order_relaxed) / sizeof(CallerPiece);
}

// One that is being made anew is none: its thread may never come back.  All of its callers are compared: a sweep
// may have taken names from any of them, and what had such an address then may be other code now.
bool CallerTable::is(uint32_t id, uint64_t hash, const Frames& frames) const {
  if (pieces_[id].hash.load(std::memory_order_relaxed) != hash) {
    return false;
  }
  uint32_t piece = id;
  for (const uint64_t* at = frames.first; at != frames.end; at += kPieceFrames) {
    const CallerPiece& p = pieces_[piece];
    if (piece == 0 || (p.uses.load(std::memory_order_relaxed) & CallerPiece::kClosed) != 0 ||
        !has_frames(p, at)) {
      return false;
    }
    piece = __atomic_load_n(&p.callers, __ATOMIC_RELAXED);
  }
  return piece == 0;
}

// acquire: who wrote the piece opened it after that.
bool CallerTable::hold_any(uint32_t id) const {
  if ((pieces_[id].uses.fetch_add(1, std::memory_order_acquire) & CallerPiece::kClosed) == 0) {
    return true;
  }
  release(id);
  return false;
}

bool CallerTable::hold(uint32_t id, uint64_t hash, const Frames& frames) const {
  if (!hold_any(id)) {
    return false;
  }
  if (is(id, hash, frames)) {
    return true;
  }
  release(id);
  return false;
}

// Whoever holds a piece holds its callers, and they stay its callers.  From the leaf on, as they refer to each other: what
// differs ends what was the same so far.
CallerTable::Chain CallerTable::hold_common(const uint64_t* end, uint32_t pieces) const {
  const uint64_t last = __atomic_load_n(&last_, __ATOMIC_RELAXED);
  const auto id = static_cast<uint32_t>(last);
  if (id == 0 || !hold_any(id)) {
    return {0, 0};
  }
  Chain at{id, static_cast<uint32_t>(last >> 32)};
  const auto go_to_callers = [&] {
    at = {__atomic_load_n(&pieces_[at.piece].callers, __ATOMIC_RELAXED), at.pieces - 1};
  };
  while (at.pieces > pieces && at.piece != 0) {
    go_to_callers();
  }
  Chain common = at;
  while (at.pieces != 0 && at.piece != 0) {
    const bool is_same = has_frames(pieces_[at.piece], end - at.pieces * kPieceFrames);
    go_to_callers();
    common = is_same ? common : at;
  }
  // Another piece may have come to its place since, with more or fewer callers.
  const bool is_found = at.pieces == 0 && at.piece == 0 && common.pieces != 0;
  if (is_found && common.piece == id) {
    return common;
  }
  const bool is_held = is_found && hold_any(common.piece);
  release(id);
  return is_held ? common : Chain{0, 0};
}

uint32_t CallerTable::hold(const uint64_t* frames, uint32_t depth, uint32_t* own, uint32_t* unknown) const {
  const uint32_t pieces = pieces_of(depth);
  const uint64_t* const end = frames + depth;
  *own = *unknown = depth;
  if (pieces == 0) {
    return 0;
  }
  const Chain common = hold_common(end, pieces);
  const uint64_t of_common =
      common.piece != 0 ? pieces_[common.piece].hash.load(std::memory_order_relaxed) : 0;
  uint64_t hash = of_common;
  uint64_t hashes[kKeptHashes];  // of the deepest: the caller's stack may be small
  for (uint32_t i = common.pieces + 1; i <= pieces; ++i) {
    hash = hashes[i % kKeptHashes] = hash_of(end - i * kPieceFrames, hash);
  }
  const auto find = [&](uint64_t of, const Frames& these) {
    const uint32_t id = index_.find_or_insert(
        of, [&](uint32_t other) { return is(other, of, these); }, [] { return InternIndex::kNone; });
    return id != InternIndex::kNone && hold(id, of, these) ? id : 0;
  };
  uint32_t known = common.pieces;
  uint32_t held = common.piece;
  hash = of_common;
  const uint32_t last = pieces - known > kKeptHashes ? pieces - kKeptHashes : known;
  for (uint32_t i = pieces; i > last; --i) {
    if (const uint32_t found = find(hashes[i % kKeptHashes], {end - i * kPieceFrames, end})) {
      release(held);
      known = i;
      held = found;
      hash = hashes[i % kKeptHashes];
      break;
    }
  }
  *own = *unknown = depth - known * kPieceFrames;
  for (uint32_t i = known + 1; i <= pieces; ++i) {
    const uint64_t* const at = end - i * kPieceFrames;
    hash = hash_of(at, hash);
    const uint32_t next = intern(hash, held, {at, end});
    if (next == 0) {
      break;
    }
    release(held);  // `next` has a use of its own
    held = next;
    *own = depth - i * kPieceFrames;
  }
  const uint64_t now = uint64_t{(depth - *own) / kPieceFrames} << 32 | held;
  if (__atomic_load_n(&last_, __ATOMIC_RELAXED) != now) {
    __atomic_store_n(&last_, now, __ATOMIC_RELAXED);
  }
  return held;
}

// `callers` is held.
uint32_t CallerTable::intern(uint64_t hash, uint32_t callers, const Frames& frames) const {
  constexpr int kMaxTries = 3;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    uint32_t made = InternIndex::kNone;
    const uint32_t id = index_.find_or_insert(
        hash, [&](uint32_t other) { return is(other, hash, frames); },
        [&] { return made = make(hash, callers, frames.first); });
    if (id == InternIndex::kNone) {
      release(made != InternIndex::kNone ? made : 0);
      break;
    }
    if (made == id) {
      return id;
    }
    if (made != InternIndex::kNone) {
      release(made);  // another thread was faster; its place is taken by the next one that needs one
    }
    if (hold(id, hash, frames)) {
      return id;
    }
  }
  return 0;
}

uint32_t CallerTable::make(uint64_t hash, uint32_t callers, const uint64_t* frames) const {
  uint32_t id = close_new();
  if (id == 0) {
    id = close_unused();
  }
  if (id == 0) {
    return InternIndex::kNone;
  }
  // What a reader finds here of this piece it finds after the fold that gave the place away (snapshot_stacks.cc).
  std::atomic_thread_fence(std::memory_order_release);
  CallerPiece& p = pieces_[id];
  p.hash.store(hash, std::memory_order_relaxed);
  store_once(&p.callers, callers);
  for (uint32_t i = 0; i < kPieceFrames; ++i) {
    store_once(p.frames + i, frames[i]);
  }
  if (callers != 0) {
    pieces_[callers].uses.fetch_add(1, std::memory_order_relaxed);  // it is held
  }
  p.uses.fetch_add(1 - CallerPiece::kClosed, std::memory_order_release);  // open, and held
  return id;
}

// An entry that nobody had yet; the first one is no piece.
uint32_t CallerTable::close_new() const {
  for (;;) {
    const uint64_t offset = arena_.allocate(kCallerSection, sizeof(CallerPiece));
    if (offset == Arena::kNoOffset) {
      return 0;
    }
    const auto id = static_cast<uint32_t>(offset / sizeof(CallerPiece));
    if (id != 0 && close(id)) {  // a hand may have come by
      index_.prepare(id);
      return id;
    }
  }
}

uint32_t CallerTable::close_unused() const {
  const uint64_t pieces = size();
  for (uint32_t looks = 0; looks < kCallerLooks && pieces > 1; ++looks) {
    const uint64_t hand = pieces_[0].hash.fetch_add(1, std::memory_order_relaxed);
    const auto id = static_cast<uint32_t>(1 + hand % (pieces - 1));
    if (close(id)) {
      forget(id);
      return id;
    }
  }
  return 0;
}

// It becomes the caller's alone, unless somebody uses it.
bool CallerTable::close(uint32_t id) const {
  uint32_t uses = 0;
  // acquire pairs with the release of each use that was given back.
  return pieces_[id].uses.load(std::memory_order_relaxed) == 0 &&
         pieces_[id].uses.compare_exchange_strong(uses, CallerPiece::kClosed, std::memory_order_acquire,
                                                  std::memory_order_relaxed);
}

// Of a piece that is closed.
void CallerTable::forget(uint32_t id) const {
  CallerPiece& p = pieces_[id];
  const uint64_t hash = p.hash.load(std::memory_order_relaxed);
  if (hash != 0) {
    index_.remove(hash, id);
    p.hash.store(0, std::memory_order_relaxed);
    release(p.callers);
    store_once(&p.callers, uint32_t{0});
  }
}

bool CallerTable::empty(uint32_t id) const {
  if (!close(id)) {
    return false;
  }
  forget(id);
  for (uint64_t& frame : pieces_[id].frames) {
    store_once(&frame, uint64_t{0});
  }
  pieces_[id].uses.fetch_sub(CallerPiece::kClosed, std::memory_order_release);
  return true;
}

}  // namespace memprof
