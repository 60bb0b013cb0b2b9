// SPDX-License-Identifier: Apache-2.0
#include "platform/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace memprof::clock_test {
namespace {

TEST(Clock, AClockThatIsStoppedStandsStill) {
  platform::stop_clock(true);
  const uint64_t now = platform::monotonic_ns();
  EXPECT_NE(0u, now);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(now, platform::monotonic_ns());
  }
  platform::stop_clock(false);
  EXPECT_LT(now, platform::monotonic_ns());
}

TEST(Clock, ClocksAreThoseOfTheSystem) {
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const uint64_t now = platform::monotonic_ns();
  clock_gettime(CLOCK_MONOTONIC, &after);
  EXPECT_LE(static_cast<uint64_t>(before.tv_sec) * 1000000000 + static_cast<uint64_t>(before.tv_nsec), now);
  EXPECT_GE(static_cast<uint64_t>(after.tv_sec) * 1000000000 + static_cast<uint64_t>(after.tv_nsec), now);
  EXPECT_LE(now, platform::monotonic_ns());
  const auto seconds = static_cast<uint64_t>(time(nullptr));
  EXPECT_NEAR(static_cast<double>(seconds), static_cast<double>(platform::unix_ns() / 1000000000), 2);
}

}  // namespace
}  // namespace memprof::clock_test
