// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that reads the callers that stacks share (core/tables/caller_table.h).
//
// A piece of callers becomes another one only when no stack has it any more: the stacks that had it were folded, which
// the log of folds tells, and are read again with the pieces that they have now (core/reader/snapshot_stacks.cc).
#include <algorithm>

#include "core/reader/snapshot_source.h"
#include "platform/memory.h"

namespace memprof {
namespace {

constexpr uint32_t kMaxPieces = kMaxDepth / kPieceFrames;

}  // namespace

void Snapshot::copy_caller(const Source& source, uint32_t id) {
  const CallerPiece& from = source.at<CallerPiece>(kCallerSection)[id];
  for (uint32_t i = 0; i < kPieceFrames; ++i) {
    caller_frames.data[uint64_t{id} * kPieceFrames + i] = load_once(from.frames[i]);
  }
  caller_callers.data[id] = load_once(from.callers);
}

void Snapshot::copy_callers(const Source& source) {
  const uint64_t count = std::min(source.count<CallerPiece>(kCallerSection), max_callers_);
  if (source.file >= 0) {
    platform::advise_dense(caller_frames.data, count * kPieceFrames * sizeof(uint64_t));
    platform::advise_dense(caller_frame_modules.data, count * kPieceFrames * sizeof(uint32_t));
  }
  for (uint32_t id = 1; id < count; ++id) {
    copy_caller(source, id);
  }
  caller_callers.size = count;
  // Pairs with the release in caller_table.cc: of another piece in its place the fold is seen, too.
  std::atomic_thread_fence(std::memory_order_acquire);
}

// Of a stack that is read again.
void Snapshot::copy_callers_of(Source* source, uint32_t id) {
  for (uint32_t pieces = 0; id != 0 && pieces < kMaxPieces; ++pieces) {
    if (id >= std::min(source->count<CallerPiece>(kCallerSection), max_callers_)) {
      break;
    }
    source->load_part(kCallerSection, id * sizeof(CallerPiece), sizeof(CallerPiece));
    copy_caller(*source, id);
    caller_callers.size = std::max<uint64_t>(caller_callers.size, id + 1);
    id = caller_callers.data[id];
  }
  std::atomic_thread_fence(std::memory_order_acquire);
}

// How many pieces it is from this one to the root; 0: it is damaged.
uint32_t Snapshot::depth_of_callers(uint32_t id) {
  uint32_t unknown[kMaxPieces];
  uint32_t count = 0;
  for (; id != 0 && id < caller_callers.size && caller_depths.data[id] == 0; id = caller_callers.data[id]) {
    if (count == kMaxPieces) {
      return 0;
    }
    unknown[count++] = id;
  }
  if (id >= caller_callers.size && id != 0) {
    return 0;
  }
  uint32_t depth = id != 0 ? caller_depths.data[id] : 0;
  if (depth + count > kMaxPieces) {
    return 0;
  }
  while (count != 0) {
    caller_depths.data[unknown[--count]] = static_cast<uint16_t>(++depth);
  }
  return depth;
}

// Of a stack whose callers are not what it says nothing is known.
void Snapshot::finish_frames() {
  own_frame_modules.size = own_frames.size;
  caller_depths.size = caller_callers.size;
  caller_frames.size = caller_frame_modules.size = caller_callers.size * kPieceFrames;
  for (uint64_t i = 0; i < stacks.size; ++i) {
    SnapshotStack& s = stacks.data[i];
    SnapshotStackFrames& f = stack_frames.data[i];
    const uint32_t others = s.frame_count - f.own;
    if (others != 0 && (others % kPieceFrames != 0 || depth_of_callers(f.callers) * kPieceFrames != others)) {
      s.frame_count = 0;
      f = {};
    }
    s.first_frame = flat_count_;
    flat_count_ += s.frame_count;
  }
}

Span<uint64_t> Snapshot::flat_frames() const {
  // acquire pairs with the release below.
  uint64_t* all = flat_frames_.load(std::memory_order_acquire);
  if (all == nullptr && make_flat_frames()) {
    all = flat_frames_.load(std::memory_order_acquire);
  }
  return {all, all != nullptr ? flat_count_ : 0};
}

Span<uint32_t> Snapshot::flat_frame_modules() const {
  const Span<uint64_t> all = flat_frames();
  return {all.data != nullptr ? reinterpret_cast<uint32_t*>(all.data + all.size) : nullptr, all.size};
}

bool Snapshot::make_flat_frames() const {
  auto* const all = static_cast<uint64_t*>(platform::reserve_pages(flat_bytes(flat_count_)));
  if (all == nullptr) {
    return false;
  }
  uint64_t* frame = all;
  auto* module = reinterpret_cast<uint32_t*>(all + flat_count_);
  const auto add = [&](const uint64_t* frames_of, const uint32_t* modules_of, uint32_t count) {
    frame = std::copy(frames_of, frames_of + count, frame);
    module = std::copy(modules_of, modules_of + count, module);
  };
  for (uint64_t i = 0; i < stacks.size; ++i) {
    const SnapshotStackFrames& f = stack_frames.data[i];
    add(own_frames.data + f.first_own, own_frame_modules.data + f.first_own, f.own);
    for (uint32_t id = f.callers; id != 0; id = caller_callers.data[id]) {
      const uint64_t first = uint64_t{id} * kPieceFrames;
      add(caller_frames.data + first, caller_frame_modules.data + first, kPieceFrames);
    }
  }
  uint64_t* none = nullptr;
  if (!flat_frames_.compare_exchange_strong(none, all, std::memory_order_acq_rel)) {
    platform::release_pages(all, flat_bytes(flat_count_));  // another thread was faster
  }
  return true;
}

}  // namespace memprof
