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

TEST(PyroscopeProfile, SeriesAreSaid) {
  SeriesFacts facts;
  facts.labels["host"] = {"a", "b"};
  EXPECT_EQ(series_text(facts, {{"a", 20}, {"b", 20}}), "2 series (host: a, b), 40 looks");
  EXPECT_EQ(series_text({}, {{"a", 1}}), "1 series, 1 look");
  for (int i = 0; i < 20; ++i) facts.labels["host"].insert("c" + std::to_string(i));
  EXPECT_EQ(series_text(facts, {{"a", 1}}),
            "1 series (host: a, b, c0, c1, c10, c11, c12, c13 and 14 more), 1 look");
}

}  // namespace
}  // namespace memprof::cli
