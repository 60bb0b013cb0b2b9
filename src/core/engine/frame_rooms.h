// SPDX-License-Identifier: Apache-2.0
// Room for the frames of a deep stack, outside of every stack: the program's may have 8 KiB in all.
//
// Model: rooms for the whole process, one of which a walk takes for as long as it needs its frames.  A thread
// looks first at the one it most likely had before, whose memory is warm.
//
// What is in a room stays there until somebody takes it: who remembers its ticket can take it again as it was.
//
// Threads: any number; a room is taken by a compare-exchange (acquire) and given back (release).
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
  // Which room, and how often it was taken; all zeros: none.
  struct Ticket {
    uint32_t room;
    uint32_t state;
  };

  FrameRoom() : room_(take()) {}
  // The one that the ticket is of, with the frames that were written to it; if somebody had it since, none.
  explicit FrameRoom(const Ticket& ticket) : room_(take(ticket)) {}
  ~FrameRoom();
  FrameRoom(const FrameRoom&) = delete;
  FrameRoom& operator=(const FrameRoom&) = delete;

  // In a child that has only one thread, which has none.
  static void reset_in_child();

  // kMaxDepth of them, or nullptr.
  uint64_t* frames() const { return room_ != nullptr ? room_->frames : nullptr; }

  // To take it again, after it was given back.
  Ticket ticket() const;

 private:
  struct alignas(64) Room {
    std::atomic<uint32_t> state;  // odd: it is taken; one more each time that it is taken or given back
    uint64_t frames[kMaxDepth];
  };
  static constexpr uint32_t kRooms = 32;
  static Room all_rooms[kRooms];
  static bool take(Room* room, uint32_t state);
  static Room* take();
  static Room* take(const Ticket& ticket);

  Room* const room_;
};

}  // namespace memprof
