// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report.h"

#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/profile/report/reports.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using report_fixture::cumulative;
using report_fixture::row;
using report_fixture::self;

// As text: depth, names, cumulative live bytes, self.
std::string tree_text(const Report& report, const CallTree& tree) {
  std::string text;
  for (const TreeNode& node : tree.nodes) {
    text += std::to_string(node.depth) + ":";
    for (const uint32_t group : node.groups) text += report.groups[group].name + " ";
    const size_t bytes = metric_index(Metric::kInuseSpace);
    text += std::to_string(std::lround(node.cumulative[bytes].value)) + "/" +
            std::to_string(std::lround(node.self[bytes].value)) + "; ";
  }
  return text;
}

TEST(Report, TheTreeBeginsAtTheRoot) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t parse = b.at("parse");
  const uint32_t node = b.at("node");
  const uint32_t cut = b.at("cut off");
  const uint32_t malloc = b.at("malloc");
  b.stack({malloc, node, parse, main}, 100, 2).stack({parse, main}, 10, 1).stack({node, cut}, 1, 1);
  b.profile().stacks.back().walk = Walk::kNoRule;
  b.stack({parse, main}, 10, 1);
  b.profile().stacks.back().walk = Walk::kMiddleLeftOut;  // its root is there
  ReportOptions options;
  options.has_tree = true;
  const Report report = build_report(b.profile(), options);
  ASSERT_TRUE(report.tree.has_value());
  EXPECT_EQ(tree_text(report, *report.tree),
            "1:main parse 220/20; 2:node 200/200; 1:[stack cut] cut off node 1/1; ");
  options.filter.focus = Pattern("cut");
  const Report focused = build_report(b.profile(), options);
  EXPECT_EQ(tree_text(focused, *focused.tree), "1:[stack cut] cut off node 1/1; ");
}

TEST(Report, ATreeOfModulesHasOneNodeForNeighbours) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t parse = b.at("parse");
  const uint32_t inflate = b.module("libz.so.1").at("inflate");
  b.stack({inflate, inflate, parse, main}, 10, 1).stack({main, inflate, parse, main}, 1, 1);
  ReportOptions options = grouped_by(GroupBy::kModule);
  options.has_tree = true;
  const Report report = build_report(b.profile(), options);
  EXPECT_EQ(tree_text(report, *report.tree), "1:server libz.so.1 11/10; 2:server 1/1; ");
}

TEST(Report, ARecursionIsOneNodeOfATree) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t f = b.at("f");
  const uint32_t g = b.at("g");
  b.stack({f, main}, 1, 1).stack({f, f, main}, 10, 1).stack({f, f, f, main}, 100, 1);
  b.stack({f, g, f, main}, 1000, 1);
  ReportOptions options;
  options.has_tree = true;
  const Report report = build_report(b.profile(), options);
  EXPECT_EQ(tree_text(report, *report.tree), "1:main f 1111/111; 2:g f 1000/1000; ");
  EXPECT_EQ(cumulative(report, "f"), 1111);
}

TEST(Report, TooManyFramesForATreeAreAnError) {
  Builder b;
  const uint32_t f = b.at("f");
  const uint32_t g = b.at("g");
  b.stack({f, g, f, g}, 1, 1).stack({g, f, f, f, f, g}, 1, 1);
  ReportOptions options;
  options.has_tree = true;
  options.tree.max_frames = 7;
  EXPECT_NO_THROW(build_report(b.profile(), options)) << "recursion is one node";
  options.tree.max_frames = 6;
  EXPECT_THROW(build_report(b.profile(), options), Error);
  options.callees = "f";
  EXPECT_NO_THROW(build_report(b.profile(), options)) << "from the outermost f inwards";
  options.tree.max_frames = 4;
  EXPECT_THROW(build_report(b.profile(), options), Error);
}

TEST(Report, TreesOfCallersAndCallees) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t a = b.at("a");
  const uint32_t c = b.at("c");
  const uint32_t f = b.at("f");
  b.stack({f, a, main}, 100, 1).stack({c, f, c, main}, 10, 1).stack({c, main}, 1, 1);
  ReportOptions options;
  options.has_tree = true;
  options.callers = "f";
  options.callees = "f";
  const Report report = build_report(b.profile(), options);
  EXPECT_FALSE(report.tree.has_value());
  ASSERT_EQ(report.calls.size(), 2u);
  EXPECT_EQ(tree_text(report, *report.calls[0].tree), "1:f 110/0; 2:a main 100/100; 2:c main 10/10; ");
  EXPECT_EQ(tree_text(report, *report.calls[1].tree), "1:f 110/100; 2:c 10/10; ");
}

TEST(Report, AFunctionThatIsNotThereIsAnErrorThatHelps) {
  Builder b;
  b.stack({b.at("malloc"), b.at("Cache::insert(int)")}, 1, 1);
  ReportOptions options;
  const auto error_of = [&](const std::string& function) -> std::string {
    options.callers = function;
    try {
      build_report(b.profile(), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("insrt"),
            "--callers: no function of the profile matches 'insrt'; did you mean 'Cache::insert(int)'?");
  EXPECT_NE(error_of("zzz").find("; the table (memprof report FILE) lists"), std::string::npos);
  EXPECT_NE(error_of("malloc").find("no function"), std::string::npos) << "the allocator's own is no row";
  EXPECT_NE(error_of("[[").find("missing ]"), std::string::npos);
  EXPECT_EQ(error_of("insert"), "");
}

TEST(Report, ATreeHasNamedHeapsAtItsRoot) {
  Builder b;
  const uint32_t main = b.at("main");
  b.stack({b.at("f"), main}, 10, 1, 1).stack({main}, 20, 1, 1);
  b.profile().stacks[0].heap = "pool:a";
  ReportOptions options;
  options.has_tree = true;
  const Report report = build_report(b.profile(), options);
  ASSERT_EQ(report.tree->nodes.size(), 2u);
  EXPECT_EQ(report.groups[report.tree->nodes[0].groups[0]].name, "main");
  EXPECT_EQ(report.groups[report.tree->nodes[1].groups[0]].name, "[heap pool:a]");
  EXPECT_EQ(report.groups[report.tree->nodes[1].groups[1]].name, "main");
  options.by = GroupBy::kHeap;
  EXPECT_EQ(build_report(b.profile(), options).tree->nodes.size(), 2u);
}

TEST(Report, CallersOfAFunctionThatIsLeftOutAreShownWhenAskedFor) {
  Builder b;
  const uint32_t push = b.symbol("std::vector<int>::push_back(int const&)", "_ZNSt6vector");
  b.stack({push, b.at("main")}, 1000, 2);
  ReportOptions options;
  options.callers = "push_back";
  const Report report = build_report(b.profile(), options);
  ASSERT_EQ(report.calls.size(), 1u);
  ASSERT_EQ(report.calls[0].edges.rows.size(), 1u);
  EXPECT_EQ(report.calls[0].edges.rows[0].group.name, "main");
  options.callers = "main";
  EXPECT_EQ(build_report(b.profile(), options).calls[0].edges.self[metric_index(Metric::kInuseSpace)].value,
            2000);
  options.filter.focus = Pattern("std::vector<int>");
  EXPECT_EQ(build_report(b.profile(), options).selected[metric_index(Metric::kInuseSpace)].value, 2000);
}

}  // namespace
}  // namespace memprof::profile
