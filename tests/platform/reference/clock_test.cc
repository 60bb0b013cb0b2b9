// SPDX-License-Identifier: Apache-2.0
#include "platform/clock.h"

#include <gtest/gtest.h>

#include <set>

namespace memprof::reference_clock_test {
namespace {

TEST(ReferenceClock, SeedsDifferAlsoWhenTheClockStands) {
  std::set<uint64_t> seeds;
  platform::stop_clock(true);
  for (int i = 0; i < 1000; ++i) {
    seeds.insert(platform::random_seed());
  }
  platform::stop_clock(false);
  EXPECT_EQ(1000u, seeds.size());
}

}  // namespace
}  // namespace memprof::reference_clock_test
