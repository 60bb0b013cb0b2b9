// SPDX-License-Identifier: Apache-2.0
// What only the walk with all registers can follow.  What both walks can is in table_walk_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unwind/hand_made_code.h"
#include "unwind/walk/table_walk.h"

#include "platform/stack.h"

namespace memprof::register_walk_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using platform::Walk;
using ::testing::ElementsAre;

class RegisterWalk : public SignalWalk {};

TEST_F(RegisterWalk, AllRegistersAreFollowedOnlyByTheSecondWalk) {
  put(10, {1, in(kSavesRbx)});
  put(12, {7, at(20), in(kOddCfa)});  // rbx becomes 20
  put(20, {at(30), in(kOddCfa)});     // CFA = rbx + 16 = 22; rbx becomes 30
  put(30, {5, in(kFirst)});
  const Start start{in(kFlat), at(10), 0};
  const Walked first = walk(start, bounds(10));
  EXPECT_TRUE(first.needs_all);
  EXPECT_THAT(first.frames, ElementsAre(in(kFlat), in(kSavesRbx), in(kOddCfa)));
  const Walked second = walk_full(start, bounds(8));
  EXPECT_THAT(second.frames, ElementsAre(in(kFlat), in(kSavesRbx), in(kOddCfa), in(kOddCfa), in(kFirst)));
  EXPECT_EQ(Walk::kRoot, second.reason);
}

TEST_F(RegisterWalk, AllRegistersComeFromTheContext) {
  put(10, {1, in(kTrampoline)});
  put_context(12, in(kOddCfa), at(40), 0, at(50));
  put(50, {0, in(kFirst)});
  const Start start{in(kFlat), at(10), 0};
  EXPECT_TRUE(walk(start, bounds(10)).needs_all);
  EXPECT_THAT(walk_full(start, bounds(8)).frames,
              ElementsAre(in(kFlat), in(kTrampoline), in(kOddCfa) + 1, in(kFirst)));
}

}  // namespace
}  // namespace memprof::register_walk_test
