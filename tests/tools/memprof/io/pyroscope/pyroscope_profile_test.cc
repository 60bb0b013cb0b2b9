// SPDX-License-Identifier: Apache-2.0
// Profiles that a server has: tests/e2e/pyroscope_read_test.py, tests/fleet/fleet_test.py.
#include "memprof/io/pyroscope/pyroscope_profile.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(PyroscopeProfile, WhatIsAllocatedAddsUp) {
  using profile::Metric;
  EXPECT_TRUE(adds_up(Metric::kAllocSpace));
  EXPECT_TRUE(adds_up(Metric::kAllocObjects));
  for (const Metric level : {Metric::kInuseSpace, Metric::kPeakSpace, Metric::kMappedObjects}) {
    EXPECT_FALSE(adds_up(level));
  }
}

TEST(PyroscopeProfile, StepsAreWholeSecondsOfTheRange) {
  EXPECT_EQ(step_of(2000), 1000);
  EXPECT_EQ(step_of(3'600'000), 150'000);
  EXPECT_EQ(step_of(902'000), 41'000);
  for (int64_t range_ms = 2000; range_ms < 400'000; range_ms += 2000) {
    EXPECT_EQ(range_ms % step_of(range_ms), 0);
    EXPECT_EQ(step_of(range_ms) % 1000, 0);
    EXPECT_LE(2 * step_of(range_ms), range_ms);
  }
}

TEST(PyroscopeProfile, WhoLookedIsSaid) {
  const std::map<std::string, uint64_t> steps = {{"1", 3}};
  EXPECT_EQ(lookers_text("", {{"a key", steps}}), "1 series");
  EXPECT_EQ(lookers_text("pod", {{"x", steps}, {"y", steps}, {"z", {}}}), "2 series (pod: x, y)");
  LookCounts counts = {{"a", steps}};
  EXPECT_EQ(lookers_text("host", counts), "1 host (a)");
  for (int i = 0; i < 20; ++i) counts["c" + std::to_string(i)] = steps;
  EXPECT_EQ(lookers_text("host", counts), "21 hosts (a, c0, c1, c10, c11, c12, c13, c14 and 13 more)");
}

}  // namespace
}  // namespace memprof::cli
