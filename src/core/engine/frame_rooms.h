// SPDX-License-Identifier: Apache-2.0
// Room for the frames of a deep stack, outside of every stack: the program's may have 8 KiB in all.
//
// Model: rooms for the whole process, one of which a walk takes for as long as it needs its frames.  A thread
// looks first at the one it most likely had before, whose memory is warm.
//
// Threads: any number; a room is taken by an atomic exchange (acquire) and given back (release).
// Signals: a handler takes another one.
// fork: a child gives back those that other threads had in the parent.
// Allocates: never (256 KiB of zero pages, resident where touched).
// Failure: nullptr when all are taken.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"

namespace memprof {

class FrameRoom {
 public:
  FrameRoom() : room_(take()) {}
  ~FrameRoom();
  FrameRoom(const FrameRoom&) = delete;
  FrameRoom& operator=(const FrameRoom&) = delete;

  // In a child that has only one thread, which has none.
  static void reset_in_child();

  // kMaxDepth of them, or nullptr.
  uint64_t* frames() const { return room_ != nullptr ? room_->frames : nullptr; }

 private:
  struct alignas(64) Room {
    std::atomic<bool> is_taken;
    uint64_t frames[kMaxDepth];
  };
  static constexpr uint32_t kRooms = 32;
  static Room all_rooms[kRooms];
  static Room* take();

  Room* const room_;
};

}  // namespace memprof
