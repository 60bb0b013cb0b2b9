// SPDX-License-Identifier: Apache-2.0
#include "core/engine/frame_rooms.h"

#include "core/arena/levels.h"
#include "core/sampling/sampler.h"

namespace memprof {

FrameRoom::Room FrameRoom::all_rooms[kRooms];

FrameRoom::Room* FrameRoom::take() {
  const uint64_t first = mix_hash(reinterpret_cast<uintptr_t>(&t_sampler));
  for (uint32_t i = 0; i < kRooms; ++i) {
    Room& room = all_rooms[(first + i) % kRooms];
    if (!room.is_taken.load(std::memory_order_relaxed) &&
        !room.is_taken.exchange(true, std::memory_order_acquire)) {
      return &room;
    }
  }
  return nullptr;
}

FrameRoom::~FrameRoom() {
  if (room_ != nullptr) {
    room_->is_taken.store(false, std::memory_order_release);
  }
}

void FrameRoom::reset_in_child() {
  for (Room& room : all_rooms) {
    room.is_taken.store(false, std::memory_order_release);
  }
}

}  // namespace memprof
