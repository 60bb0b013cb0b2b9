// SPDX-License-Identifier: Apache-2.0
// The frames that a walk found.  Of a stack that is deeper than the limit, both ends are kept, if the walk
// gets to its root.
//
// Model: the caller's array takes the first max_depth frames.  Those after it go by turns into two small
// arrays, so that the last kRootFrames are always at hand and the loops that collect frames see nothing but
// where the next ones go:
//     array  [ leaf ........................ ]        tail 0 [ .... ]   tail 1 [ .... ]   tail 0 ...
// At the root, the end of the array becomes kFramesLeftOut and the last kRootFrames; else it stays as it is.
//
// Threads, signals, fork: a plain value.
// Allocates: never; 280 bytes of stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "platform/stack.h"

namespace memprof::unwind {

class FrameList {
 public:
  static constexpr uint32_t kRootFrames = 16;
  // With a lower limit, the root's end would take too much of the leaf's.
  static constexpr uint32_t kMinDepth = 4 * kRootFrames;
  // The longest walk.
  static constexpr uint32_t kMaxFrames = 1024;

  // `keep_root`: false: what is beyond the limit is left out, and that is all.
  FrameList(uint64_t* frames, uint32_t max_depth, bool keep_root = true)
      : frames_(frames),
        max_depth_(max_depth),
        keep_root_(keep_root),
        next_(frames),
        limit_(frames + max_depth) {}
  FrameList(const FrameList&) = delete;
  FrameList& operator=(const FrameList&) = delete;

  // false: the limit is reached.
  bool add(uint64_t pc) {
    if (next_ == limit_ && !go_on()) {
      return false;
    }
    *next_++ = pc;
    return true;
  }

  // For a loop of its own: where the next ones go.  Beyond the limit only add() gets on.
  uint64_t* next() const { return next_; }
  size_t size() const { return static_cast<size_t>(next_ - frames_); }
  uint64_t* limit() const { return limit_; }
  void advance_to(uint64_t* next) { next_ = next; }

  platform::WalkResult end(platform::Walk reason) {
    return tails_ == 0 ? platform::WalkResult{static_cast<uint32_t>(next_ - frames_), reason}
                       : end_beyond_limit(reason);
  }

 private:
  // The next tail.
  [[gnu::noinline]] bool go_on() {
    if (!keep_root_ || max_depth_ < kMinDepth || max_depth_ + (tails_ + 1) * kRootFrames > kMaxFrames) {
      return false;
    }
    next_ = tail_[tails_++ % 2];
    limit_ = next_ + kRootFrames;
    return true;
  }

  [[gnu::noinline]] platform::WalkResult end_beyond_limit(platform::Walk reason) {
    if (reason != platform::Walk::kRoot) {
      return {max_depth_, platform::Walk::kDepthLimit};
    }
    uint64_t* const kept = frames_ + max_depth_ - kRootFrames;
    const uint64_t* const last = tail_[(tails_ - 1) % 2];
    const uint64_t* const before = tails_ == 1 ? kept : tail_[tails_ % 2];
    const auto count = static_cast<uint32_t>(next_ - last);
    memmove(kept, before + count, (kRootFrames - count) * sizeof(uint64_t));
    memcpy(kept + kRootFrames - count, last, count * sizeof(uint64_t));
    kept[-1] = platform::kFramesLeftOut;
    return {max_depth_, platform::Walk::kMiddleLeftOut};
  }

  uint64_t* const frames_;
  const uint32_t max_depth_;
  const bool keep_root_;
  uint32_t tails_ = 0;  // begun
  uint64_t* next_;
  uint64_t* limit_;
  uint64_t tail_[2][kRootFrames];
};

}  // namespace memprof::unwind
