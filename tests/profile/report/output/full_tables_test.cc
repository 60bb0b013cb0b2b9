// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/full_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FullTables, EachHasASentence) {
  Report report;
  EXPECT_THAT(full_tables(report), IsEmpty());
  report.folded_stacks = 12345;
  report.folded_functions = 2;
  report.folded_heaps = 1;
  report.thinned_samples = 7;
  EXPECT_THAT(full_tables(report),
              ElementsAre(HasSubstr("12,345 older stacks were shortened, to [older stacks]. No bytes"),
                          HasSubstr("3 modules, functions and heaps share one"),
                          HasSubstr("7 of the live samples left it to others")));
}

TEST(FullTables, StacksSayTheShareOfTheBytes) {
  Report report;
  report.folded_stacks = 1;
  report.health.emplace();
  report.health->total_allocated_bytes = 200;
  report.health->shortened_bytes = 30;
  EXPECT_THAT(full_tables(report),
              ElementsAre(HasSubstr("to [older stacks] (15.0 % of the bytes). No bytes")));
}

}  // namespace
}  // namespace memprof::profile
