// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/sample_type.h"

#include <gtest/gtest.h>

#include <optional>

namespace memprof::profile {
namespace {

std::optional<Metric> metric_of(const char* type, const char* unit) {
  const auto match = match_sample_type(type, unit);
  return match ? std::optional(match->metric) : std::nullopt;
}

TEST(SampleType, NamesOfOtherProfilers) {
  EXPECT_EQ(metric_of("inuse_space", "bytes"), Metric::kInuseSpace);
  EXPECT_EQ(metric_of("inuse-space", "bytes"), Metric::kInuseSpace);
  EXPECT_EQ(metric_of("inuse-objects", "count"), Metric::kInuseObjects);
  EXPECT_EQ(metric_of("heap-space", "bytes"), Metric::kInuseSpace);
  EXPECT_EQ(metric_of("heap-live-size", "bytes"), Metric::kInuseSpace);
  EXPECT_EQ(metric_of("heap-live-samples", "count"), Metric::kInuseObjects);
  EXPECT_EQ(metric_of("alloc-size", "bytes"), Metric::kAllocSpace);
  EXPECT_EQ(metric_of("alloc-space", "bytes"), Metric::kAllocSpace);
  EXPECT_EQ(metric_of("alloc-samples", "count"), Metric::kAllocObjects);
  EXPECT_EQ(metric_of("alloc_in_new_tlab_bytes", "bytes"), Metric::kAllocSpace);
  EXPECT_EQ(metric_of("alloc_outside_tlab_objects", "count"), Metric::kAllocObjects);
  EXPECT_EQ(metric_of("live", "count"), Metric::kInuseObjects);
  EXPECT_EQ(metric_of("live", "bytes"), Metric::kInuseSpace);
  EXPECT_EQ(metric_of("alloc-samples-unscaled", "count"), std::nullopt);
  EXPECT_EQ(metric_of("cpu-time", "nanoseconds"), std::nullopt);
  EXPECT_EQ(metric_of("file-io-read-size", "bytes"), std::nullopt);
}

TEST(SampleType, Units) {
  EXPECT_EQ(match_sample_type("space", "kilobytes")->factor, 1024);
  EXPECT_EQ(match_sample_type("alloc_space", "MB")->factor, 1024 * 1024);
  EXPECT_EQ(match_sample_type("space", "")->factor, 1);
  EXPECT_EQ(metric_of("space", "nanoseconds"), std::nullopt);
  EXPECT_EQ(metric_of("space", "count"), std::nullopt);
  EXPECT_EQ(metric_of("objects", "bytes"), std::nullopt);
  EXPECT_EQ(match_unit("kilobytes")->factor, 1024);
  EXPECT_EQ(match_unit("count")->metric, Metric::kInuseObjects);
  EXPECT_FALSE(match_unit("nanoseconds").has_value());
}

}  // namespace
}  // namespace memprof::profile
