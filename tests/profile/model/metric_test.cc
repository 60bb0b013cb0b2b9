// SPDX-License-Identifier: Apache-2.0
#include "profile/model/metric.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(Metric, names_and_units_are_those_of_pprof) {
  EXPECT_STREQ(metric_name(Metric::kAllocObjects), "alloc_objects");
  EXPECT_STREQ(metric_name(Metric::kAllocSpace), "alloc_space");
  EXPECT_STREQ(metric_name(Metric::kInuseObjects), "inuse_objects");
  EXPECT_STREQ(metric_name(Metric::kInuseSpace), "inuse_space");
  EXPECT_STREQ(metric_unit(Metric::kAllocObjects), "count");
  EXPECT_STREQ(metric_unit(Metric::kInuseSpace), "bytes");
}

TEST(Metric, is_found_by_its_name_only) {
  for (const Metric metric : kMetrics) {
    EXPECT_EQ(metric_from_short_name(metric_name(metric)), metric);
  }
  EXPECT_EQ(metric_from_file("peak_space"), Metric::kPeakSpace);
  EXPECT_FALSE(metric_from_file("temporary_space"));  // of a time that no file chooses
  EXPECT_FALSE(metric_from_file("peak"));
  EXPECT_EQ(metric_from_short_name("temporary"), Metric::kTemporarySpace);
  EXPECT_EQ(metric_from_short_name("allocated"), Metric::kAllocSpace);  // as its column is called
  EXPECT_FALSE(metric_from_short_name("inuse"));
  EXPECT_FALSE(metric_from_short_name(""));
}

}  // namespace
}  // namespace memprof::profile
