// SPDX-License-Identifier: Apache-2.0
#include "platform/clock.h"

#include <gtest/gtest.h>

#include <set>

namespace memprof::platform {
namespace {

TEST(WindowsClock, GoesForward) {
  const uint64_t before = monotonic_ns();
  uint64_t after = before;
  while (after == before) {
    after = monotonic_ns();
  }
  EXPECT_GT(after, before);
}

TEST(WindowsClock, CanBeStopped) {
  stop_clock(true);
  const uint64_t stopped = monotonic_ns();
  EXPECT_EQ(monotonic_ns(), stopped);
  stop_clock(false);
  EXPECT_GE(monotonic_ns(), stopped);
}

TEST(WindowsClock, KnowsTheYear) {
  constexpr uint64_t kYear = uint64_t{365} * 24 * 3600 * 1000000000;
  EXPECT_GT(unix_ns(), 54 * kYear);
  EXPECT_LT(unix_ns(), 200 * kYear);
}

TEST(WindowsClock, SeedsDiffer) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 1000; ++i) {
    seeds.insert(random_seed());
  }
  EXPECT_EQ(seeds.size(), 1000u);
}

}  // namespace
}  // namespace memprof::platform
