// SPDX-License-Identifier: Apache-2.0
#include "core/engine/frame_rooms.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "tests/support/engine.h"

namespace memprof::frame_rooms_test {
namespace {

using testing_support::run_threads;

TEST(FrameRooms, AreApartAndComeBack) {
  const uint64_t* first = FrameRoom().frames();
  ASSERT_NE(nullptr, first);
  EXPECT_EQ(first, FrameRoom().frames());  // warm
  std::vector<std::unique_ptr<FrameRoom>> taken;
  std::set<uint64_t*> places;
  for (;;) {
    taken.push_back(std::make_unique<FrameRoom>());
    uint64_t* frames = taken.back()->frames();
    if (frames == nullptr) {
      break;
    }
    frames[0] = frames[kMaxDepth - 1] = 1;
    EXPECT_TRUE(places.insert(frames).second);
  }
  EXPECT_EQ(places.size(), 32u);
  taken.clear();
  EXPECT_EQ(first, FrameRoom().frames());
}

TEST(FrameRooms, OneIsOfOneThreadAtATime) {
  run_threads(8, [](int thread) {
    for (int i = 0; i < 20000; ++i) {
      const FrameRoom room;
      ASSERT_NE(nullptr, room.frames());
      const uint64_t mine = static_cast<uint64_t>(thread) << 32 | static_cast<uint64_t>(i);
      room.frames()[5] = mine;
      room.frames()[kMaxDepth - 1] = mine;
      ASSERT_EQ(mine, room.frames()[5]);
      ASSERT_EQ(mine, room.frames()[kMaxDepth - 1]);
    }
  });
}

TEST(FrameRooms, WhatWasWrittenIsThereUntilSomebodyTakesTheRoom) {
  FrameRoom::Ticket ticket{};
  EXPECT_EQ(nullptr, FrameRoom(ticket).frames());
  const uint64_t* place = nullptr;
  {
    const FrameRoom room;
    place = room.frames();
    room.frames()[7] = 42;
    ticket = room.ticket();
    EXPECT_EQ(nullptr, FrameRoom(ticket).frames());  // not given back yet
  }
  FrameRoom::Ticket second{};
  {
    const FrameRoom again(ticket);
    ASSERT_EQ(place, again.frames());
    EXPECT_EQ(again.frames()[7], 42u);
    second = again.ticket();
  }
  EXPECT_EQ(nullptr, FrameRoom(ticket).frames());  // somebody had it
  EXPECT_EQ(place, FrameRoom(second).frames());
  const FrameRoom other;
  EXPECT_EQ(place, other.frames());
  EXPECT_EQ(nullptr, FrameRoom(other.ticket()).frames());
}

TEST(FrameRooms, AChildHasNoTickets) {
  FrameRoom::Ticket ticket{};
  {
    const FrameRoom room;
    ticket = room.ticket();
  }
  FrameRoom::reset_in_child();
  EXPECT_EQ(nullptr, FrameRoom(ticket).frames());
  EXPECT_NE(nullptr, FrameRoom().frames());
}

}  // namespace
}  // namespace memprof::frame_rooms_test
