// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The interface that docs/exports.md describes: exactly these columns, in this order.
TEST(ReportCsv, HasTheDocumentedColumns) {
  Builder b;
  b.stack({b.at("insert(map<int, int>&)", "/src/cache.cc", 7), b.at("main")}, 100, 3);
  ReportOptions options;
  options.view.full_names = true;
  const std::string csv = report_csv(build_report(b.profile(), options));
  EXPECT_THAT(csv, StartsWith("name,file,line,module,through_function,through_module,called_by_function,"
                              "called_by_file,called_by_line,self_alloc_objects,self_alloc_objects_low,"
                              "self_alloc_objects_high,self_alloc_space,self_alloc_space_low,"));
  EXPECT_THAT(csv,
              HasSubstr(",cumulative_inuse_space,cumulative_inuse_space_low,cumulative_inuse_space_high\n"));
  EXPECT_THAT(csv, HasSubstr("\n\"insert(map<int, int>&)\",/src/cache.cc,7,server,,,,,,3,3,3,300,300,300,"));
  EXPECT_THAT(csv, HasSubstr("\nmain,,,server,,,,,,0,0,0,"));
}

TEST(ReportCsv, WhatIsNotKnownIsEmpty) {
  Builder b;
  Stack stack;
  stack.locations = {b.at("f")};
  stack.values = {0, 0, 1, 64};
  b.profile().stacks.push_back(stack);
  b.profile().from_memprof = false;
  b.profile().has_metric = {};
  b.profile().has_metric[metric_index(Metric::kInuseSpace)] = true;
  EXPECT_EQ(report_csv(build_report(b.profile())),
            "name,file,line,module,through_function,through_module,called_by_function,called_by_file,"
            "called_by_line,self_inuse_space,self_inuse_space_low,self_inuse_space_high,"
            "cumulative_inuse_space,cumulative_inuse_space_low,cumulative_inuse_space_high\n"
            "f,,,server,,,,,,64,,,64,,\n");
}

TEST(ReportCsv, OfSizesIsTheHistogram) {
  Builder b;
  b.stack({b.at("f")}, 100, 3);
  ReportOptions options;
  options.has_sizes = true;
  EXPECT_EQ(report_csv(build_report(b.profile(), options)),
            "from_bytes,to_bytes,samples,inuse_space,inuse_space_low,inuse_space_high,inuse_objects,"
            "inuse_objects_low,inuse_objects_high\n"
            "64,128,3,300,300,300,3,3,3\n");
}

}  // namespace
}  // namespace memprof::profile
