// SPDX-License-Identifier: Apache-2.0
#include "platform/process.h"

#include <gtest/gtest.h>

#include "core/engine/frame_rooms.h"
#include "tests/support/engine.h"

namespace memprof::reference_process_test {
namespace {

using testing_support::in_child;
using testing_support::run_threads;

// They are few: a child that did not get them back would soon have none.
TEST(ReferenceProcess, WhatThreadsHadTakenIsThereInTheChild) {
  in_child([] {
    platform::make_owner_page();
    const FrameRoom taken;
    ASSERT_NE(nullptr, taken.frames());
    while (true) {
      auto* more = new FrameRoom;  // leaked: another thread of the parent holds it
      if (more->frames() == nullptr) {
        break;
      }
    }
    in_child([] {
      const FrameRoom room;
      EXPECT_NE(nullptr, room.frames());
    });
  });
}

TEST(ReferenceProcess, ThreadsHaveNumbers) {
  const uint32_t own = platform::thread_id();
  EXPECT_NE(0u, own);
  EXPECT_EQ(own, platform::thread_id());
  uint32_t others[2] = {};
  run_threads(2, [&others](int i) {
    others[i] = platform::thread_id();
    platform::yield_thread();
  });
  EXPECT_NE(own, others[0]);
  EXPECT_NE(own, others[1]);
  EXPECT_NE(others[0], others[1]);
  platform::set_sandboxed(true);
  EXPECT_TRUE(platform::is_sandboxed());
  EXPECT_EQ(0u, platform::thread_id());
  platform::set_sandboxed(false);
  EXPECT_FALSE(platform::is_sandboxed());
}

TEST(ReferenceProcess, WhatItDoesNotKnowIsSaidSo) {
  EXPECT_EQ(0u, platform::process_namespace());
  EXPECT_EQ(0u, platform::process_start());
  EXPECT_STREQ("", platform::program_path());
  char text[8];
  EXPECT_EQ(0u, platform::program_arguments(text, sizeof(text)));
  EXPECT_STREQ("", platform::arena_folder());
  platform::order_all_threads();
}

}  // namespace
}  // namespace memprof::reference_process_test
