// SPDX-License-Identifier: Apache-2.0
#include "profile/report/call_edges.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

CallEdges edges_of(Builder& b, Direction direction, const std::vector<std::string>& functions,
                   size_t max_rows = SIZE_MAX, GroupBy by = GroupBy::kFunction) {
  FrameGrouping grouping(b.profile(), by);
  std::vector<GroupedFrame> frames;
  for (const Stack& stack : b.profile().stacks) grouping.frames_of(stack, &frames);
  std::vector<bool> wanted;
  for (const std::string& name : grouping.functions()) {
    wanted.push_back(std::find(functions.begin(), functions.end(), name) != functions.end());
  }
  EdgeFinder finder(&grouping, direction, wanted);
  for (const Stack& stack : b.profile().stacks) finder.add(stack);
  CallEdges edges;
  finder.finish(Metric::kInuseSpace, max_rows, true, &edges);
  return edges;
}

// "name bytes", largest first.
std::string text(const CallEdges& edges) {
  std::string result;
  for (const EdgeRow& row : edges.rows) {
    const double bytes = row.values[metric_index(Metric::kInuseSpace)].value;
    result += row.group.name + " " + std::to_string(std::lround(bytes)) + "; ";
  }
  return result;
}

double live(const std::array<Estimate, kMetricCount>& values) {
  return values[metric_index(Metric::kInuseSpace)].value;
}

TEST(CallEdges, CallersAndCallees) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t a = b.at("a");
  const uint32_t c = b.at("c");
  const uint32_t f = b.at("f");
  const uint32_t malloc = b.at("malloc");
  b.stack({malloc, f, a, main}, 100, 1).stack({malloc, c, f, a, main}, 10, 1).stack({f, main}, 1, 1);
  b.stack({a, main}, 5000, 1);
  const CallEdges callers = edges_of(b, Direction::kCallers, {"f"});
  EXPECT_EQ(text(callers), "a 110; main 1; ");
  EXPECT_EQ(live(callers.cumulative), 111);
  EXPECT_EQ(live(callers.self), 101);
  EXPECT_FALSE(callers.has_recursion);
  EXPECT_EQ(text(edges_of(b, Direction::kCallees, {"f"})), "[itself] 101; c 10; ");
  EXPECT_EQ(text(edges_of(b, Direction::kCallees, {"main"})), "a 5110; f 1; ");
  EXPECT_EQ(text(edges_of(b, Direction::kCallers, {"main"})), "[root] 5111; ");
}

TEST(CallEdges, ACutStackDoesNotSayThatNobodyCalled) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f}, 1, 1).stack({f}, 20, 1);
  b.profile().stacks[1].walk = Walk::kDepthLimit;
  EXPECT_EQ(text(edges_of(b, Direction::kCallers, {"f"})), "[stack cut] 20; [root] 1; ");
}

TEST(CallEdges, WithRecursionAStackCountsOnceForEachRow) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t f = b.at("f");
  const uint32_t g = b.at("g");
  b.stack({f, f, f, main}, 100, 1).stack({f, g, f, main}, 10, 1);
  const CallEdges callers = edges_of(b, Direction::kCallers, {"f"});
  EXPECT_EQ(text(callers), "main 110; f 100; g 10; ");
  EXPECT_EQ(live(callers.cumulative), 110);
  EXPECT_TRUE(callers.has_recursion);
  EXPECT_EQ(text(edges_of(b, Direction::kCallees, {"f"})), "[itself] 110; f 100; g 10; ");
}

TEST(CallEdges, SeveralFunctionsCountOnceTogether) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t f = b.at("f");
  const uint32_t g = b.at("g");
  b.stack({f, g, main}, 100, 1);
  const CallEdges callers = edges_of(b, Direction::kCallers, {"f", "g"});
  EXPECT_EQ(live(callers.cumulative), 100);
  EXPECT_EQ(text(callers), "g 100; main 100; ");
}

TEST(CallEdges, RowsAreLimitedAndCounted) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f, b.at("a")}, 1, 1).stack({f, b.at("b")}, 2, 1).stack({f, b.at("c")}, 3, 1, 0);
  const CallEdges edges = edges_of(b, Direction::kCallers, {"f"}, 1);
  EXPECT_EQ(text(edges), "b 2; ");
  EXPECT_EQ(edges.row_count, 2u) << "c holds nothing now";
}

TEST(CallEdges, NeighboursAreGroupedAsAskedFor) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t f = b.at("f");
  b.module("libz.so.1");
  const uint32_t x = b.at("x");
  const uint32_t y = b.at("y");
  b.stack({f, x, main}, 1, 1).stack({f, y, main}, 2, 1).stack({f, main}, 4, 1);
  EXPECT_EQ(text(edges_of(b, Direction::kCallers, {"f"}, 9, GroupBy::kModule)), "server 4; libz.so.1 3; ");
}

TEST(CallEdges, PathsBeginAtTheOutermostCall) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t f = b.at("f");
  const uint32_t g = b.at("g");
  b.stack({f, g, f, main}, 1, 1).stack({g, main}, 1, 1).stack({f, g}, 1, 1);
  b.profile().stacks[2].walk = Walk::kNoRule;
  FrameGrouping grouping(b.profile(), GroupBy::kFunction);
  std::vector<GroupedFrame> frames;
  for (const Stack& stack : b.profile().stacks) grouping.frames_of(stack, &frames);
  const auto paths = [&](Direction direction) {
    std::vector<bool> wanted;
    for (const std::string& name : grouping.functions()) wanted.push_back(name == "f");
    EdgeFinder finder(&grouping, direction, wanted);
    std::string all;
    for (const Stack& stack : b.profile().stacks) {
      for (const uint32_t group : finder.path_of(stack)) all += grouping.groups()[group].name + " ";
      all += "| ";
    }
    return all;
  };
  EXPECT_EQ(paths(Direction::kCallers), "f main | | f g [stack cut] | ");
  EXPECT_EQ(paths(Direction::kCallees), "f g f | | f | ");
}

}  // namespace
}  // namespace memprof::profile
