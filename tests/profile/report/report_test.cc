// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report.h"

#include <gtest/gtest.h>

#include "tests/profile/report/reports.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using report_fixture::cumulative;
using report_fixture::row;
using report_fixture::self;

TEST(Report, SelfIsTheLeafAndCumulativeTheWholeStack) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t parse = b.at("parse");
  const uint32_t node = b.at("node");
  b.stack({node, parse, main}, 100, 2).stack({parse, main}, 10, 1);
  const Report report = build_report(b.profile());
  EXPECT_EQ(self(report, "node"), 200);
  EXPECT_EQ(cumulative(report, "node"), 200);
  EXPECT_EQ(self(report, "parse"), 10);
  EXPECT_EQ(cumulative(report, "parse"), 210);
  EXPECT_EQ(self(report, "main"), 0);
  EXPECT_EQ(cumulative(report, "main"), 210);
  EXPECT_EQ(report.totals[metric_index(Metric::kInuseSpace)].value, 210);
  EXPECT_EQ(report.totals[metric_index(Metric::kAllocObjects)].value, 3);
}

TEST(Report, RecursionIsCountedOnce) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t walk = b.at("walk");
  const uint32_t walk_elsewhere = b.at("walk");  // another address of the same function
  b.stack({walk, walk, walk_elsewhere, main}, 64, 1);
  EXPECT_EQ(cumulative(build_report(b.profile()), "walk"), 64);
}

TEST(Report, TheAllocatorsOwnFunctionsAreNotTheLeaf) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t vector = b.at("grow");
  b.module("libstdc++.so.6");
  const uint32_t new_ = b.at("operator new(unsigned long)");
  const uint32_t malloc = b.at("malloc");
  b.stack({malloc, new_, vector, main}, 100, 1);
  const Report report = build_report(b.profile());
  EXPECT_EQ(self(report, "grow"), 100);
  EXPECT_EQ(row(report, "malloc"), nullptr);
  EXPECT_EQ(row(report, "operator new(unsigned long)"), nullptr);

  const Report modules = build_report(b.profile(), grouped_by(GroupBy::kModule));
  EXPECT_EQ(self(modules, "server"), 100);
  EXPECT_EQ(row(modules, "libstdc++.so.6"), nullptr);
}

TEST(Report, AnAllocatorThatNobodyCalledIsTheLeaf) {
  Builder b;
  const uint32_t new_ = b.at("operator new(unsigned long)");
  const uint32_t malloc = b.at("malloc");
  b.stack({malloc, new_}, 100, 1);
  const Report report = build_report(b.profile());
  EXPECT_EQ(self(report, "operator new(unsigned long)"), 100);
  EXPECT_EQ(report.rows.size(), 1u);
}

TEST(Report, AnAllocatorsNameFurtherUpIsAFunctionLikeOthers) {
  Builder b;
  const uint32_t malloc = b.at("malloc");
  const uint32_t hook = b.at("hook");
  b.stack({hook, malloc}, 100, 1);
  const Report report = build_report(b.profile());
  EXPECT_EQ(self(report, "hook"), 100);
  EXPECT_EQ(cumulative(report, "malloc"), 100);
}

TEST(Report, AStackWithoutFramesIsUnknown) {
  Builder b;
  b.stack({}, 100, 1);
  EXPECT_EQ(self(build_report(b.profile()), "[unknown]"), 100);
}

TEST(Report, CodeWithoutANameIsItsPlace) {
  Builder b;
  b.stack({b.at("")}, 100, 1);
  const Report report = build_report(b.profile());
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows[0].name, "server+0x100");
  EXPECT_EQ(report.rows[0].module, "server");
}

TEST(Report, InlinedFunctionsAreFramesOfTheirOwn) {
  Builder b;
  const uint32_t outer = b.at("outer");
  const uint32_t place = b.at("inlined");
  b.profile().locations[place].lines.push_back(b.profile().locations[outer].lines[0]);
  b.stack({place}, 100, 1);
  const Report report = build_report(b.profile());
  EXPECT_EQ(self(report, "inlined"), 100);
  EXPECT_EQ(self(report, "outer"), 0);
  EXPECT_EQ(cumulative(report, "outer"), 100);
}

TEST(Report, FunctionsOfOneNameInTwoModulesAreTwoRows) {
  Builder b;
  const uint32_t here = b.at("init");
  const uint32_t there = b.module("libother.so").at("init");
  b.stack({here}, 100, 1).stack({there}, 10, 1);
  const Report report = build_report(b.profile());
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(report.rows[0].module, "server");
  EXPECT_EQ(report.rows[1].module, "libother.so");
}

TEST(Report, GroupsByLineFileAndModule) {
  Builder b;
  const uint32_t a1 = b.at("f", "/src/a.cc", 1);
  const uint32_t a2 = b.at("f", "/src/a.cc", 2);
  const uint32_t c = b.at("g", "/src/c.cc", 9);
  const uint32_t bare = b.module("libz.so.1").at("deflate");
  b.stack({a1}, 1, 1).stack({a2}, 10, 1).stack({c}, 100, 1).stack({bare}, 1000, 1);

  const Report functions = build_report(b.profile());
  EXPECT_EQ(row(functions, "f")->line, 2) << "of two lines the one that holds more";
  EXPECT_EQ(row(functions, "g")->line, 9) << "the only one";
  EXPECT_EQ(self(functions, "f"), 11);

  const Report lines = build_report(b.profile(), grouped_by(GroupBy::kLine));
  EXPECT_EQ(lines.rows.size(), 4u);
  EXPECT_EQ(lines.rows[2].name, "f");
  EXPECT_EQ(lines.rows[2].line, 2);

  const Report files = build_report(b.profile(), grouped_by(GroupBy::kFile));
  EXPECT_EQ(self(files, "/src/a.cc"), 11);
  EXPECT_EQ(self(files, "/src/c.cc"), 100);
  EXPECT_EQ(self(files, "libz.so.1"), 1000) << "no source file is known there";

  const Report modules = build_report(b.profile(), grouped_by(GroupBy::kModule));
  EXPECT_EQ(self(modules, "server"), 111);
  EXPECT_EQ(self(modules, "libz.so.1"), 1000);
}

TEST(Report, RowsAreOrderedByTheMetric) {
  Builder b;
  const uint32_t big = b.at("few big");
  const uint32_t small = b.at("many small");
  const uint32_t freed = b.at("freed");
  b.stack({big}, 1000, 2).stack({small}, 1, 100).stack({freed}, 5000, 1, 0);
  const auto first = [&b](Metric metric) {
    ReportOptions options;
    options.metric = metric;
    return build_report(b.profile(), options).rows[0].name;
  };
  EXPECT_EQ(first(Metric::kInuseSpace), "few big");
  EXPECT_EQ(first(Metric::kInuseObjects), "many small");
  EXPECT_EQ(first(Metric::kAllocSpace), "freed");
  EXPECT_EQ(first(Metric::kAllocObjects), "many small");
}

TEST(Report, EqualRowsAreOrderedByCumulativeThenByName) {
  Builder b;
  const uint32_t z = b.at("z");
  const uint32_t y = b.at("y");
  const uint32_t x = b.at("x");
  const uint32_t leaf = b.at("leaf");
  b.stack({leaf, z}, 1, 1).stack({leaf, y, x}, 1, 1).stack({leaf, z}, 1, 1);
  const Report report = build_report(b.profile());
  std::string order;
  for (const ReportRow& r : report.rows) order += r.name + " ";
  EXPECT_EQ(order, "leaf z x y ");
}

TEST(Report, LimitsRowsAndCountsThem) {
  Builder b;
  b.stack({b.at("a")}, 3, 1).stack({b.at("b")}, 2, 1).stack({b.at("c")}, 7, 1, 0);
  ReportOptions options;
  options.max_rows = 1;
  EXPECT_EQ(build_report(b.profile(), options).rows.size(), 1u);
  EXPECT_EQ(build_report(b.profile(), options).row_count, 3u);
  options.skip_empty = true;
  EXPECT_EQ(build_report(b.profile(), options).row_count, 2u) << "c holds nothing now";
}

TEST(Report, RowsHaveTheIntervalOfTheirSum) {
  constexpr uint64_t kRate = 1000;
  Builder b(kRate);
  const uint32_t f = b.at("f");
  const uint32_t main = b.at("main");
  b.stack({f, main}, 100, 5).stack({f}, 100, 5);
  const Report report = build_report(b.profile());
  Accumulator expected;
  expected.add_live({100, kRate, 10});
  const Estimate right = expected.estimate(Metric::kInuseSpace);
  const Estimate found = row(report, "f")->self[metric_index(Metric::kInuseSpace)];
  EXPECT_TRUE(report.has_intervals);
  EXPECT_NEAR(found.value, right.value, 1e-6);
  EXPECT_NEAR(found.low, right.low, 1e-3 * right.low);
  EXPECT_NEAR(found.high, right.high, 1e-3 * right.high);
  EXPECT_LT(found.low, found.value);
  EXPECT_GT(found.high, found.value);
}

TEST(Report, TheHeaderIsThatOfTheProfile) {
  Builder b(1 << 20);
  b.stack({b.at("f")}, 100, 9);
  b.profile().walks = {3, 1, 0, 0, 0};
  b.profile().dropped_samples = 2;
  const Report report = build_report(b.profile());
  EXPECT_EQ(report.program, "server");
  EXPECT_EQ(report.pid, 4711u);
  EXPECT_EQ(report.samples, 9u);
  EXPECT_EQ(report.dropped_samples, 2u);
  ASSERT_TRUE(report.health.has_value());
  EXPECT_DOUBLE_EQ(report.health->truncation_rate(), 0.25);
  EXPECT_NEAR(report.unlisted_bound_bytes, 3.0 * (1 << 20), 0.01 * (1 << 20));
}

// One stack in 300 does not agree with its statistics: the others keep their intervals, and it is counted.
TEST(Report, AStackWithoutStatisticsTakesNoIntervalsFromOthers) {
  Builder b(1000);
  const uint32_t main = b.at("main");
  for (int i = 0; i < 300; ++i) b.stack({b.at("f" + std::to_string(i)), main}, 100, 5);
  Stack& odd = b.profile().stacks[7];
  for (const Metric metric : kMetrics) odd.values[metric_index(metric)] = estimated_value(odd, metric);
  odd.has_statistics = false;
  ReportOptions options;
  options.max_rows = 1000;
  const Report report = build_report(b.profile(), options);
  EXPECT_TRUE(report.has_intervals);
  EXPECT_EQ(1u, report.stacks_without_intervals);
  const size_t live = metric_index(Metric::kInuseSpace);
  EXPECT_TRUE(row(report, "f6")->self[live].has_interval);
  EXPECT_TRUE(row(report, "main")->cumulative[live].has_interval);
  EXPECT_FALSE(row(report, "f7")->self[live].has_interval);
  EXPECT_NEAR(row(report, "f7")->self[live].value, row(report, "f6")->self[live].value, 1);
  for (int i = 10; i < 20; ++i) b.profile().stacks[static_cast<size_t>(i)].has_statistics = false;
  for (int i = 10; i < 20; ++i) b.profile().stacks[static_cast<size_t>(i)].values = odd.values;
  EXPECT_FALSE(build_report(b.profile(), options).has_intervals);
}

TEST(Report, AProfileByOthersHasNoIntervals) {
  Builder b;
  b.profile().from_memprof = false;
  Stack stack;
  stack.locations = {b.at("f")};
  stack.values = {1, 2, 3, 4};
  b.profile().stacks.push_back(stack);
  const Report report = build_report(b.profile());
  EXPECT_FALSE(report.has_intervals);
  EXPECT_EQ(self(report, "f"), 4);
  EXPECT_FALSE(report.health.has_value());
}

TEST(Report, TheDefaultMetricIsOneThatTheProfileHas) {
  Profile profile;
  profile.has_metric = {true, true, true, true};
  EXPECT_EQ(default_metric(profile), Metric::kInuseSpace);
  profile.has_metric = {true, true, false, false};
  EXPECT_EQ(default_metric(profile), Metric::kAllocSpace);
}

TEST(Report, FocusAndIgnoreLeaveTheTotalsAsTheyAre) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t parse = b.at("parse");
  const uint32_t cache = b.at("cache");
  b.stack({parse, main}, 100, 1).stack({cache, parse, main}, 10, 1).stack({cache, main}, 1, 1);
  ReportOptions options;
  options.filter.focus = Pattern("parse");
  options.filter.ignore = Pattern("^cache$");
  const Report report = build_report(b.profile(), options);
  const size_t bytes = metric_index(Metric::kInuseSpace);
  EXPECT_EQ(report.totals[bytes].value, 111);
  EXPECT_EQ(report.selected[bytes].value, 100);
  EXPECT_EQ(self(report, "parse"), 100);
  EXPECT_EQ(cumulative(report, "main"), 100);
  EXPECT_EQ(row(report, "cache"), nullptr);
  EXPECT_EQ(report.filter.focus, "parse");
  EXPECT_EQ(report.filter.ignore, "^cache$");
  EXPECT_EQ(build_report(b.profile()).selected[bytes].value, 111);
}

TEST(Report, TheLineOfAFunctionIsThatWhichAllocatesTheMostItself) {
  Builder b;
  const uint32_t leaf = b.at("leaf");
  const uint32_t calls = b.at("f", "f.c", 3);
  b.stack({leaf, calls}, 1000, 1)
      .stack({b.at("f", "f.c", 9)}, 10, 1)
      .stack({leaf, b.at("g", "g.c", 4)}, 1, 1);
  const Report report = build_report(b.profile());
  EXPECT_EQ(row(report, "f")->line, 9);
  EXPECT_EQ(row(report, "g")->line, 4) << "it allocates nothing itself";
}

TEST(Report, FoldingLosesNoByte) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t push = b.symbol("std::vector<int>::push_back(int const&)", "_ZNSt6vector");
  b.stack({push, main}, 1000, 2).stack({push}, 100, 1).stack({b.at("malloc")}, 10, 1).stack({}, 1, 1);
  for (const bool all : {false, true}) {
    ReportOptions options;
    options.view.all = all;
    const Report report = build_report(b.profile(), options);
    double sum = 0;
    for (const ReportRow& row : report.rows) sum += row.self[metric_index(Metric::kInuseSpace)].value;
    EXPECT_EQ(sum, 2111);
    EXPECT_EQ(self(report, "main"), all ? 0 : 2000);
    EXPECT_EQ(self(report, "std::vector<>::push_back(int const&)"), all ? 2100 : 100);
  }
}

TEST(Report, TheLargestChangeOfADifferenceComesFirst) {
  report_fixture::Builder builder;
  const uint32_t more = builder.at("more");
  const uint32_t less = builder.at("less");
  const uint32_t even = builder.at("little");
  for (const auto& [location, value] :
       {std::pair{more, 500.0}, std::pair{less, -900.0}, std::pair{even, 3.0}}) {
    Stack stack;
    stack.locations = {location};
    stack.values = {0, 0, 0, value};
    builder.profile().stacks.push_back(stack);
  }
  const Report report = build_report(builder.profile());
  ASSERT_EQ(report.rows.size(), 3u);
  EXPECT_EQ(report.rows[0].name, "less");
  EXPECT_EQ(report.rows[0].self[metric_index(Metric::kInuseSpace)].value, -900);
  EXPECT_EQ(report.rows[1].name, "more");
}

TEST(Report, BesideALineStandsWhatHalfOfItIsThrough) {
  Builder b;
  b.module("_umath.so");
  const uint32_t empty = b.at("array_empty");
  const uint32_t copy = b.at("array_copy");
  const uint32_t ones = b.python("ones", "/usr/lib/python3/dist-packages/numpy/numeric.py", 12);
  const uint32_t prices = b.python("prices", "app.py", 4);
  const uint32_t volumes = b.python("volumes", "app.py", 6);
  b.stack({empty, ones, prices}, 100, 5).stack({copy, ones, prices}, 100, 3).stack({ones, volumes}, 100, 2);
  const Report report = build_report(b.profile());
  ASSERT_NE(row(report, "ones"), nullptr);
  const ReportRow& half = *row(report, "ones");
  EXPECT_EQ(half.self[metric_index(Metric::kInuseSpace)].value, 1000);
  ASSERT_TRUE(half.notes.through && half.notes.called_by);
  EXPECT_EQ(half.notes.through->function, "array_empty");
  EXPECT_EQ(half.notes.through->module, "_umath.so");
  EXPECT_EQ(half.notes.called_by->function, "prices");
  EXPECT_EQ(half.notes.called_by->file, "app.py");
  EXPECT_EQ(half.notes.called_by->line, 4);
  EXPECT_FALSE(row(report, "prices")->notes.through || row(report, "prices")->notes.called_by);
  b.stack({ones, volumes}, 100, 7);
  const Report other = build_report(b.profile());
  EXPECT_FALSE(row(other, "ones")->notes.through) << "5 of 17 are no half";
  EXPECT_EQ(row(other, "ones")->notes.called_by->function, "volumes");
  ReportOptions tree;
  tree.has_tree = true;
  EXPECT_EQ(build_report(b.profile(), tree).tree->nodes.size(), 4u) << "calls have native code";
  tree.callees = "ones";
  const Report calls = build_report(b.profile(), tree);
  ASSERT_EQ(calls.calls.size(), 1u);
  EXPECT_EQ(calls.calls[0].edges.rows.size(), 3u);  // itself, and two
}

}  // namespace
}  // namespace memprof::profile
