// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_tables.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

TEST(PageTables, ARowHasSamplesByKind) {
  Builder builder(1024);
  builder.stack({builder.at("main")}, 64, 10, 4);
  PageTables tables;
  const PageRow row = tables.row_of(builder.profile().stacks[0], builder.profile(), false);
  // Live and allocated are of one kind: the size and the rate are the same.
  EXPECT_EQ(row.families[0].entries, (std::vector<PageEntry>{{kFirstPageKind, 4}}));
  EXPECT_EQ(row.families[1].entries, (std::vector<PageEntry>{{kFirstPageKind, 10}}));
  EXPECT_TRUE(row.families[2].entries.empty());
  EXPECT_EQ(tables.sizes().kinds, 1u);
}

TEST(PageTables, SumsOverSeveralSizesStandApart) {
  Builder builder(1024);
  builder.stack({builder.at("main")}, 64, 10, 4);
  Stack& stack = builder.profile().stacks[0];
  stack.allocated.weight_bytes *= 1.5;
  PageTables tables;
  const PageRow row = tables.row_of(stack, builder.profile(), false);
  EXPECT_EQ(row.families[1].entries, (std::vector<PageEntry>{{kTotalsKind, 10}}));
  EXPECT_EQ(row.families[1].totals.size(), 1u);
  stack.allocated.variance_count += 1;
  EXPECT_FALSE(tables.row_of(stack, builder.profile(), false).families[1] == row.families[1]);
}

TEST(PageTables, MappingsAreExact) {
  Builder builder(1024);
  builder.stack({builder.at("main")}, 64, 10, 4);
  Stack& stack = builder.profile().stacks[0];
  stack.values[static_cast<size_t>(Metric::kMappedSpace)] = 8192;
  stack.values[static_cast<size_t>(Metric::kMappedObjects)] = 2;
  stack.values[static_cast<size_t>(Metric::kMappedResidentSpace)] = 4096;
  PageTables tables;
  const PageRow row = tables.row_of(stack, builder.profile(), false);
  EXPECT_EQ(row.families[3].entries, (std::vector<PageEntry>{{kPlainKind, 0}}));
  EXPECT_EQ(row.families[3].plain[0], std::pair(8192.0, 2.0));
  EXPECT_EQ(row.families[4].plain[0], std::pair(4096.0, 0.0));
}

TEST(PageTables, WhatWasFreedSoonIsAFamilyAndLifetimesStandByClass) {
  Builder builder(1024);
  builder.stack({builder.at("main")}, 64, 10, 4);
  Stack& stack = builder.profile().stacks[0];
  const double each = stack.allocated.weight_count / 10;
  stack.lifetimes = {{0, lifetime_class(1'000'000), 2, 128, 2 * each * 64, 2 * each},
                     {0, lifetime_class(1'000'000'000), 3, 192, 3 * each * 64, 3 * each}};
  PageTables tables;
  const PageRow row = tables.row_of(stack, builder.profile(), false);
  EXPECT_EQ(row.families[5].entries, (std::vector<PageEntry>{{kFirstPageKind, 2}})) << "within 10 ms";
  ASSERT_EQ(row.lifetimes.size(), 2u);
  EXPECT_EQ(row.lifetimes[1].lifetime_class, lifetime_class(1'000'000'000));
  EXPECT_EQ(row.lifetimes[1].bytes, static_cast<uint64_t>(3 * each * 64 + 0.5));
  builder.profile().temporary_ns = 10'000'000'000;
  EXPECT_EQ(tables.row_of(stack, builder.profile(), false).families[5].entries,
            (std::vector<PageEntry>{{kFirstPageKind, 5}}))
      << "within 10 s";
  PageRow other = row;
  EXPECT_TRUE(other.holds_the_same(row));
  other.lifetimes[0].blocks += 1;
  EXPECT_FALSE(other.holds_the_same(row));
  other.add(row);
  EXPECT_EQ(other.lifetimes.size(), 4u);
  EXPECT_FALSE(row.is_empty());
  EXPECT_TRUE(PageRow().is_empty());
}

TEST(PageTables, WhatOfLiveBlocksIsResidentStandsAsItIs) {
  Builder builder(1024);
  builder.stack({builder.at("main")}, 64, 10, 4);
  Stack& stack = builder.profile().stacks[0];
  stack.values[static_cast<size_t>(Metric::kResidentSpace)] = 8192;
  stack.values[static_cast<size_t>(Metric::kJsSpace)] = 77;
  PageTables tables;
  const PageRow row = tables.row_of(stack, builder.profile(), false);
  EXPECT_EQ(row.families[6].plain[0], std::pair(8192.0, 0.0));
  EXPECT_EQ(row.families[7].plain[0], std::pair(77.0, 0.0));
}

TEST(PageTables, OnlyNewRowsAreWritten) {
  Builder builder(1024);
  builder.stack({builder.at("main")}, 64, 10, 4);
  PageTables tables;
  tables.row_of(builder.profile().stacks[0], builder.profile(), false);
  const PageTables::Sizes before = tables.sizes();
  ByteWriter nothing;
  tables.write_names(before, &nothing);
  tables.write_kinds(before, &nothing);
  EXPECT_EQ(nothing.take(), std::string(5, '\0'));
  tables.row_of(builder.profile().stacks[0], builder.profile(), true);
  EXPECT_EQ(tables.sizes().labels, before.labels + 1) << "of the second profile";
  EXPECT_EQ(tables.sizes().kinds, before.kinds);
  ByteWriter label;
  tables.write_kinds(before, &label);
  EXPECT_EQ(label.take(), std::string("\0\1\0\0\2", 5));
}

TEST(PageTables, ValuesAddUp) {
  PageValues one;
  one.entries = {{kFirstPageKind, 4}};
  PageValues two = one;
  EXPECT_TRUE(one == two);
  two.add(one);
  EXPECT_EQ(two.entries.size(), 2u);
  EXPECT_FALSE(one == two);
  one.plain = {{1, 2}};
  two = one;
  two.plain[0].second = 3;
  EXPECT_FALSE(one == two);
}

}  // namespace
}  // namespace memprof::profile
