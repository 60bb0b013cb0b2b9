// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_model.h"

#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/profile/live_fixture.h"

namespace memprof::profile {
namespace {

using live_fixture::look_at;
using live_fixture::names;

constexpr double kMiB = 1 << 20;

const LiveRow* row(const LiveModel& model, const std::string& name) {
  for (const LiveRow& row : model.rows()) {
    if (row.of->name == name) return &row;
  }
  return nullptr;
}

LiveChoice sorted_by(LiveSort sort) {
  LiveChoice choice;
  choice.sort = sort;
  return choice;
}

TEST(LiveModel, GrowthIsSinceTheFirstLookAndSpeedSinceTheLast) {
  LiveModel model;
  EXPECT_FALSE(model.has_look());
  model.look(look_at(0, 3, 100));
  EXPECT_EQ(names(model), "leak") << "churn holds nothing, and nothing is known of its speed yet";
  EXPECT_EQ(model.total_growth(), 0);
  EXPECT_EQ(model.allocated_a_second(), 0);
  EXPECT_EQ(model.who(), "server (pid 4711)");
  model.look(look_at(2, 4, 120));
  model.look(look_at(4, 8, 160));
  EXPECT_EQ(model.total_growth(), 5 * kMiB);
  EXPECT_EQ(model.allocated_a_second(), 22 * kMiB);
  EXPECT_EQ(model.seconds(), 4);
  EXPECT_EQ(row(model, "leak")->growth, 5 * kMiB);
  EXPECT_EQ(row(model, "leak")->allocated_a_second, 2 * kMiB);
  EXPECT_EQ(row(model, "churn")->allocated_a_second, 20 * kMiB);
  EXPECT_EQ(row(model, "main"), nullptr) << "it allocates nothing itself";
}

TEST(LiveModel, WhatIsFreedShrinksAndWhatCameLaterGrewFromNothing) {
  LiveModel model;
  model.look(look_at(0, 3, 1));
  model.look(look_at(1, 0, 1));
  EXPECT_EQ(model.total_growth(), -3 * kMiB);
  LiveModel other;
  other.look(look_at(0, 0, 1));
  other.look(look_at(1, 2, 1));
  EXPECT_EQ(row(other, "leak")->growth, 2 * kMiB);
}

TEST(LiveModel, GrowthCanBeCountedAnew) {
  LiveModel model;
  model.look(look_at(0, 3, 1));
  model.look(look_at(1, 5, 1));
  model.count_from_now();
  EXPECT_EQ(model.total_growth(), 0);
  EXPECT_EQ(model.seconds(), 0);
  model.look(look_at(3, 6, 1));
  EXPECT_EQ(model.total_growth(), kMiB);
  EXPECT_EQ(row(model, "leak")->growth, kMiB);
  EXPECT_EQ(model.seconds(), 2);
}

TEST(LiveModel, IsOrderedAsChosen) {
  LiveModel model;
  model.look(look_at(0, 8, 1));
  model.look(look_at(1, 6, 90));
  for (const auto& [sort, expected] :
       {std::pair{LiveSort::kLive, "leak churn"}, std::pair{LiveSort::kBlocks, "leak churn"},
        std::pair{LiveSort::kCumulative, "leak main churn"}, std::pair{LiveSort::kGrowth, "churn leak"},
        std::pair{LiveSort::kAllocates, "churn leak"}}) {
    model.choose(sorted_by(sort));
    EXPECT_EQ(names(model), expected) << live_sort_name(sort);
    EXPECT_EQ(live_sort_from_name(live_sort_name(sort)), sort);
  }
  EXPECT_EQ(live_sort_from_name("size"), std::nullopt);
}

TEST(LiveModel, AnotherChoiceShowsWhatItWouldHaveShownFromTheBeginning) {
  LiveModel model;
  model.look(look_at(0, 3, 100));
  model.look(look_at(2, 4, 120));
  LiveChoice choice;
  choice.by = GroupBy::kModule;
  model.choose(choice);
  EXPECT_EQ(names(model), "libleak.so server");
  EXPECT_EQ(row(model, "libleak.so")->growth, kMiB);
  EXPECT_EQ(row(model, "server")->allocated_a_second, 10 * kMiB);
  choice.by = GroupBy::kProcess;
  model.choose(choice);
  EXPECT_EQ(names(model), "server 4711");
  choice.by = GroupBy::kFunction;
  choice.metric = Metric::kAllocSpace;
  model.choose(choice);
  EXPECT_EQ(names(model), "churn leak");
  EXPECT_EQ(row(model, "churn")->growth, 20 * kMiB) << "of what was allocated";
  choice.filter.focus = Pattern("leak");
  model.choose(choice);
  EXPECT_EQ(names(model), "leak");
  EXPECT_EQ(model.total_growth(), kMiB) << "of what is shown";
}

TEST(LiveModel, OrdersSlowlyOrExactly) {
  const auto look = [](uint64_t one, uint64_t other) {
    report_fixture::Builder b;
    b.stack({b.at("one")}, 1 << 20, one).stack({b.at("other")}, 1 << 20, other);
    LiveLook made;
    made.profile = b.profile();
    return made;
  };
  LiveModel slow;
  LiveModel exact({}, LiveOrder::kExact);
  for (LiveModel* model : {&slow, &exact}) {
    model->look(look(100, 98));
    model->look(look(100, 104));
  }
  EXPECT_EQ(names(slow), "one other");
  EXPECT_EQ(names(exact), "other one");
}

TEST(LiveModel, ATreeHasNoRows) {
  LiveChoice choice;
  choice.is_tree = true;
  LiveModel model(choice);
  model.look(look_at(0, 3, 100));
  model.look(look_at(1, 5, 100));
  EXPECT_TRUE(model.rows().empty());
  ASSERT_TRUE(model.report().tree);
  EXPECT_EQ(model.total_growth(), 2 * kMiB);
  choice.is_tree = false;
  model.choose(choice);
  EXPECT_EQ(row(model, "leak")->growth, 2 * kMiB) << "looks count also while there was a tree";
}

TEST(LiveModel, ByLineTheLinesOfAFunctionAreRowsOfTheirOwn) {
  const auto look = [](uint64_t seconds, uint64_t second) {
    report_fixture::Builder b;
    b.stack({b.at("f", "a.c", 1)}, 1 << 20, 5).stack({b.at("f", "a.c", 2)}, 1 << 20, second);
    LiveLook made;
    made.profile = b.profile();
    made.profile.time_unix_ns = seconds * 1000000000;
    return made;
  };
  LiveChoice choice;
  choice.by = GroupBy::kLine;
  LiveModel model(choice);
  model.look(look(1, 20));
  model.look(look(2, 23));
  ASSERT_EQ(model.rows().size(), 2u);
  for (const LiveRow& row : model.rows()) EXPECT_EQ(row.growth, row.of->line == 1 ? 0 : 3 * kMiB);
}

TEST(LiveModel, ARowIsTheSameWhateverLineHoldsTheMost) {
  const auto look = [](uint64_t seconds, uint64_t first, uint64_t second) {
    report_fixture::Builder b;
    b.stack({b.at("f", "f.c", 3)}, 1 << 20, first).stack({b.at("f", "f.c", 9)}, 1 << 20, second);
    LiveLook made;
    made.profile = b.profile();
    made.profile.time_unix_ns += seconds * live_fixture::kSecondNs;
    return made;
  };
  LiveModel model;
  model.look(look(0, 3, 2));
  EXPECT_EQ(row(model, "f")->of->line, 3);
  model.look(look(1, 3, 4));
  EXPECT_EQ(row(model, "f")->of->line, 9);
  EXPECT_EQ(row(model, "f")->growth, 2 * kMiB);
}

TEST(LiveModel, SeveralProcessesAreRows) {
  LiveLook look = look_at(0, 3, 1);
  look.who = "2 processes: a (pid 1), b (pid 2)";
  look.profile.stacks[0].process = "a 1";
  look.profile.stacks[1].process = "b 2";
  LiveChoice choice;
  choice.by = GroupBy::kProcess;
  choice.sort = LiveSort::kCumulative;
  LiveModel model(choice);
  model.look(look);
  EXPECT_EQ(names(model), "a 1");
  EXPECT_EQ(model.who(), look.who);
}

}  // namespace
}  // namespace memprof::profile
