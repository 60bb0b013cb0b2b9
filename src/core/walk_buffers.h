// SPDX-License-Identifier: Apache-2.0
// Room for the frames of samples whose block is still being allocated: a stack that turns out to be new is
// then not walked a second time.  Not on the stack of the thread, which the real malloc may need.
//
// Model: a few buffers for all threads; who finds none of them free goes without.  A thread begins to look at
// a place of its own, so that it finds again what is in its cache.
//
// Threads: any number.
// Signals: safe; a handler that leaves an allocation by longjmp takes a buffer with it.
// fork: what another thread had taken stays taken in the child.
// Allocates: never; pages that nobody used are not resident.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena.h"
#include "core/levels.h"

namespace memprof {

class alignas(64) WalkBuffer {
 public:
  bool take() {
    return !is_taken_.load(std::memory_order_relaxed) && !is_taken_.exchange(true, std::memory_order_acquire);
  }
  void give_back() { is_taken_.store(false, std::memory_order_release); }
  uint64_t* frames() { return frames_; }

 private:
  // acquire and release: the frames of the one before are read before they are overwritten.
  std::atomic<bool> is_taken_{false};
  uint64_t frames_[kMostDepth];
};

class WalkBuffers {
 public:
  static constexpr uint32_t kCount = 16;

  // `of_thread`: something that differs between threads.  nullptr: all are taken.
  WalkBuffer* take(const void* of_thread) {
    const uint64_t first = mix_hash(reinterpret_cast<uint64_t>(of_thread));
    for (uint32_t i = 0; i < kCount; ++i) {
      WalkBuffer& buffer = buffers_[(first + i) % kCount];
      if (buffer.take()) {
        return &buffer;
      }
    }
    return nullptr;
  }

 private:
  WalkBuffer buffers_[kCount];
};

}  // namespace memprof
