// SPDX-License-Identifier: Apache-2.0
#include "core/engine/frame_rooms.h"

#include "core/arena/levels.h"
#include "core/sampling/sampler.h"

namespace memprof {

FrameRoom::Room FrameRoom::all_rooms[kRooms];

bool FrameRoom::take(Room* room, uint32_t state) {
  return state % 2 == 0 && room->state.compare_exchange_strong(state, state + 1, std::memory_order_acquire,
                                                               std::memory_order_relaxed);
}

FrameRoom::Room* FrameRoom::take() {
  const uint64_t first = mix_hash(reinterpret_cast<uintptr_t>(&t_sampler));
  for (uint32_t i = 0; i < kRooms; ++i) {
    Room& room = all_rooms[(first + i) % kRooms];
    if (take(&room, room.state.load(std::memory_order_relaxed))) {
      return &room;
    }
  }
  return nullptr;
}

FrameRoom::Room* FrameRoom::take(const Ticket& ticket) {
  return ticket.room != 0 && take(&all_rooms[ticket.room - 1], ticket.state) ? &all_rooms[ticket.room - 1]
                                                                             : nullptr;
}

FrameRoom::Ticket FrameRoom::ticket() const {
  return room_ == nullptr ? Ticket{0, 0}
                          : Ticket{static_cast<uint32_t>(room_ - all_rooms) + 1,
                                   room_->state.load(std::memory_order_relaxed) + 1};
}

FrameRoom::~FrameRoom() {
  if (room_ != nullptr) {
    room_->state.fetch_add(1, std::memory_order_release);
  }
}

void FrameRoom::reset_in_child() {
  for (Room& room : all_rooms) {
    const uint32_t state = room.state.load(std::memory_order_relaxed);
    room.state.store((state | 1) + 1, std::memory_order_release);
  }
}

}  // namespace memprof
