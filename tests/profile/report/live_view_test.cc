// SPDX-License-Identifier: Apache-2.0
#include "profile/report/live_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kSecondNs = 1'000'000'000;

// A look `seconds` after the first, at which `leak` holds so many blocks of 1 MiB and `churn` has allocated
// so many.
Report look_at(uint64_t seconds, uint64_t leaked, uint64_t churned) {
  report_fixture::Builder builder;
  const uint32_t main = builder.at("main");
  const uint32_t leak = builder.at("leak", "leak.c", 7);
  const uint32_t churn = builder.at("churn");
  if (leaked != 0) builder.stack({leak, main}, 1 << 20, leaked, leaked);
  builder.stack({churn, main}, 1 << 20, churned, 0);
  Profile profile = builder.profile();
  profile.time_unix_ns += seconds * kSecondNs;
  return build_report(profile, live_report_options());
}

TEST(LiveView, TheFirstLookShowsWhatIsHeld) {
  LiveView view;
  view.look(look_at(0, 3, 100), 50 << 20);
  const std::string text = view.text(LiveSort::kLive, 10, {});
  EXPECT_THAT(text, HasSubstr("server (pid 4711)"));
  EXPECT_THAT(text, HasSubstr("Live: 3.0 MiB in 3 blocks; resident: 50.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("0 s ago: 0 B; allocates 0 B/s\n"));
  EXPECT_THAT(text, HasSubstr("leak"));
  EXPECT_THAT(text, HasSubstr("leak.c:7"));
  EXPECT_THAT(text, Not(HasSubstr("churn")));  // it holds nothing, and nothing is known of its speed yet
}

TEST(LiveView, LaterLooksShowGrowthAndSpeed) {
  LiveView view;
  view.look(look_at(0, 3, 100), 0);
  view.look(look_at(2, 4, 120), 0);
  view.look(look_at(4, 8, 160), 0);
  const std::string text = view.text(LiveSort::kLive, 10, {});
  EXPECT_THAT(text, HasSubstr("4 s ago: +5.0 MiB; allocates 22.0 MiB/s\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("8.0 MiB .*\\+5.0 MiB +2.0 MiB/s +leak"));
  EXPECT_THAT(text, ::testing::ContainsRegex("0 B .* 0 B +20.0 MiB/s +churn"));
  EXPECT_THAT(text, Not(HasSubstr("resident")));
}

TEST(LiveView, WhatIsFreedShrinks) {
  LiveView view;
  view.look(look_at(0, 3, 1), 0);
  view.look(look_at(1, 1, 1), 0);
  EXPECT_THAT(view.text(LiveSort::kLive, 10, {}), HasSubstr("-2.0 MiB"));
  // A site that came later grew from nothing.
  LiveView other;
  other.look(look_at(0, 0, 1), 0);
  other.look(look_at(1, 2, 1), 0);
  EXPECT_THAT(other.text(LiveSort::kLive, 10, {}), ::testing::ContainsRegex("\\+2.0 MiB +2.0 MiB/s +leak"));
}

TEST(LiveView, HasAsManyRowsAsWanted) {
  LiveView view;
  view.look(look_at(0, 3, 1), 0);
  view.look(look_at(1, 3, 9), 0);
  EXPECT_THAT(view.text(LiveSort::kLive, 1, {}), HasSubstr("leak"));
  EXPECT_THAT(view.text(LiveSort::kLive, 1, {}), Not(HasSubstr("churn")));
}

TEST(LiveView, WithoutASampleItSaysSo) {
  LiveView view;
  Profile profile = report_fixture::Builder(1 << 20).profile();
  view.look(build_report(profile, live_report_options()), 0);
  EXPECT_THAT(view.text(LiveSort::kLive, 10, {}), HasSubstr("No allocation was sampled yet."));
}

// The first name in the table.
std::string first(const LiveView& view, LiveSort sort) {
  const std::string text = view.text(sort, 10, {});
  const size_t row = text.find('\n', text.find(" function")) + 1;
  std::string line = text.substr(row, text.find('\n', row) - row);
  for (const char* name : {"leak", "churn", "main"}) {
    if (line.find(name) != std::string::npos) return name;
  }
  return line;
}

TEST(LiveView, IsOrderedAsAsked) {
  LiveView view;
  view.look(look_at(0, 8, 1), 0);
  view.look(look_at(1, 6, 90), 0);
  EXPECT_EQ(first(view, LiveSort::kLive), "leak");
  EXPECT_EQ(first(view, LiveSort::kBlocks), "leak");
  EXPECT_EQ(first(view, LiveSort::kCumulative), "leak") << "as much as main, and all of it itself";
  EXPECT_EQ(first(view, LiveSort::kGrowth), "churn") << "leak has shrunk";
  EXPECT_EQ(first(view, LiveSort::kAllocates), "churn");
  EXPECT_THAT(view.text(LiveSort::kCumulative, 10, {}),
              ::testing::ContainsRegex("0 B +0.0% +0 +6.0 MiB +0 B +0 B/s +main"));
  EXPECT_THAT(view.text(LiveSort::kLive, 10, {}), Not(HasSubstr("main"))) << "it allocates nothing itself";
  for (const LiveSort sort : {LiveSort::kLive, LiveSort::kCumulative, LiveSort::kAllocates}) {
    EXPECT_EQ(live_sort_from_name(live_sort_name(sort)), sort);
  }
  EXPECT_EQ(live_sort_from_name("size"), std::nullopt);
}

TEST(LiveView, TheColumnOfTheOrderStaysOnANarrowTerminal) {
  LiveView view;
  view.look(look_at(0, 8, 1), 0);
  view.look(look_at(1, 9, 90), 0);
  TextOptions narrow;
  for (narrow.width = 50; narrow.width < 100; narrow.width += 10) {
    EXPECT_THAT(view.text(LiveSort::kBlocks, 10, narrow), HasSubstr(" blocks "));
    EXPECT_THAT(view.text(LiveSort::kCumulative, 10, narrow), HasSubstr(" cumulative "));
    EXPECT_THAT(view.text(LiveSort::kGrowth, 10, narrow), HasSubstr(" growth "));
    EXPECT_THAT(view.text(LiveSort::kAllocates, 10, narrow), HasSubstr(" allocates "));
  }
}

TEST(LiveView, ARowIsTheSameWhateverLineHoldsTheMost) {
  const auto look = [](uint64_t seconds, uint64_t first, uint64_t second) {
    report_fixture::Builder b;
    b.stack({b.at("f", "f.c", 3)}, 1 << 20, first).stack({b.at("f", "f.c", 9)}, 1 << 20, second);
    b.profile().time_unix_ns += seconds * kSecondNs;
    return build_report(b.profile(), live_report_options());
  };
  LiveView view;
  view.look(look(0, 3, 2), 0);
  EXPECT_THAT(view.text(LiveSort::kLive, 10, {}), HasSubstr("f.c:3"));
  view.look(look(1, 3, 4), 0);
  EXPECT_THAT(view.text(LiveSort::kLive, 10, {}),
              ::testing::ContainsRegex("7.0 MiB .*\\+2.0 MiB .* f +f.c:9"));
}

TEST(LiveView, ShowsATree) {
  report_fixture::Builder b;
  const uint32_t main = b.at("main");
  b.stack({b.at("leak"), main}, 1 << 20, 3).stack({b.at("keep"), main}, 1 << 20, 1);
  LiveView view;
  view.look(build_report(b.profile(), live_report_options()), 0);
  const std::string text = view.tree_text(build_report(b.profile(), live_tree_options(10)), {});
  EXPECT_THAT(text, HasSubstr("Live: 4.0 MiB"));
  EXPECT_THAT(text, ::testing::ContainsRegex("4.0 MiB .* main\n3.0 MiB .* leak\n"));
  LiveView empty;
  const Profile nothing = report_fixture::Builder(1 << 20).profile();
  empty.look(build_report(nothing, live_report_options()), 0);
  EXPECT_THAT(empty.tree_text(build_report(nothing, live_tree_options(10)), {}),
              HasSubstr("No allocation was sampled"));
}

}  // namespace
}  // namespace memprof::profile
