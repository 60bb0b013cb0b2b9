// SPDX-License-Identifier: Apache-2.0
// The rates here are of generated fleets with fixed seeds; docs/decisions/0146 has those of many more.
#include "profile/fleet/fleet_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/profile/fleet/shipped_look.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kCycleNs = 86'400'000'000'000;

FleetHistory made_history(const ServicePlan& plan, uint64_t seed, double rate = 0.01) {
  FleetSlots slots("service_version", kCycleNs);
  add_service(plan, seed, &slots);
  return history_of(&slots, rate);
}

uint64_t day_ns(double day) {
  return (kPlanBegin + static_cast<uint64_t>(day * 86400)) * 1'000'000'000;
}

const HistoryChange* change_of(const FleetHistory& history, const std::string& function) {
  const auto found = std::find_if(history.changes.begin(), history.changes.end(),
                                  [&](const HistoryChange& change) { return change.function == function; });
  return found == history.changes.end() ? nullptr : &*found;
}

int runs_that_name(const ServicePlan& plan, int runs, double rate) {
  int named = 0;
  for (int seed = 0; seed < runs; ++seed) {
    named += made_history(plan, static_cast<uint64_t>(seed), rate).changes.empty() ? 0 : 1;
  }
  return named;
}

// At 5 % the odds of more than 7 of 20 are less than 1e-4, at 1 % those of more than 3.
TEST(FleetHistory, FalseAlarmsAreAsFewAsStated) {
  ServicePlan plan;
  EXPECT_LE(runs_that_name(plan, 20, 0.05), 7) << "daily cycle, load that wanders, hosts that come and go";
  plan.noise = 0.05;
  plan.noise_hours = 6;
  EXPECT_LE(runs_that_name(plan, 20, 0.05), 7) << "for six hours";
  plan = ServicePlan();
  plan.noise = 0.003;
  plan.hosts = 5;
  plan.rate_bytes = 524288;
  plan.rollouts = {4.2, 7.7, 10.1};
  EXPECT_LE(runs_that_name(plan, 20, 0.01), 3) << "each rollout samples anew what a process keeps";
  plan = ServicePlan();
  plan.missed = 0.35;
  plan.cycle = 0.6;
  EXPECT_LE(runs_that_name(plan, 20, 0.01), 3) << "looks are missed";
}

TEST(FleetHistory, ShiftsOfTenToFiftyPercentAreFound) {
  for (const double factor : {1.1, 1.2, 0.8, 1.5}) {
    ServicePlan plan;
    plan.hosts = 20;
    plan.function_bytes = 20e6;
    plan.changed = "f4";
    plan.changes_at = 7.3;
    plan.factor = factor;
    plan.rollouts = {7.3};
    int found = 0;
    int in_time = 0;
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const FleetHistory history = made_history(plan, seed);
      const HistoryChange* change = change_of(history, "f4");
      for (const HistoryChange& other : history.changes) {
        EXPECT_TRUE(other.function == "f4" || other.function == "(all)") << other.function;
      }
      if (change == nullptr) continue;
      ++found;
      EXPECT_NE(change->shape, ChangeShape::kGrowth);
      EXPECT_NEAR(change->after_bytes / change->before_bytes, factor, 0.05);
      EXPECT_LT(change->change_half_bytes, std::abs(change->after_bytes - change->before_bytes));
      EXPECT_LE(change->p_value, 0.01);
      in_time +=
          change->low_ns <= day_ns(7.3) && day_ns(7.3) <= change->high_ns && change->rollouts.size() == 1 ? 1
                                                                                                          : 0;
    }
    EXPECT_GE(found, factor > 1.1 || factor < 1 ? 3 : 2) << factor;
    EXPECT_GE(in_time, found - 1) << factor;
  }
}

TEST(FleetHistory, ALeakIsGrowth) {
  ServicePlan plan;
  plan.days = 20;
  plan.function_bytes = 20e6;
  plan.changed = "f3";
  plan.changes_at = 8;
  plan.growth_a_day = 0.06;
  plan.rollouts = {4};
  const FleetHistory history = made_history(plan, 1);
  const HistoryChange* change = change_of(history, "f3");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->shape, ChangeShape::kGrowth);
  EXPECT_NEAR(change->bytes_a_day, 0.06 * change->before_bytes, 0.02 * change->before_bytes);
  EXPECT_LE(change->low_ns, day_ns(8));
  EXPECT_GE(change->high_ns, day_ns(8));
  EXPECT_TRUE(change->rollouts.empty()) << "it came four days before";
  EXPECT_EQ(history.services[0].rollouts.size(), 1U);
}

TEST(FleetHistory, WhatCannotBeToldIsSaid) {
  ServicePlan plan;
  plan.days = 1;
  FleetHistory history = made_history(plan, 1);
  ASSERT_EQ(history.services.size(), 1U);
  EXPECT_NE(history.services[0].trouble.find("less than two times 24 h"), std::string::npos);
  plan.days = 8;
  history = made_history(plan, 1);
  EXPECT_NE(history.services[0].trouble.find("8 blocks of 24 h, fewer than 10"), std::string::npos);
  plan.days = 20;
  plan.looks_a_day = 1;
  history = made_history(plan, 1);
  EXPECT_NE(history.services[0].trouble.find("no host was looked at"), std::string::npos);
  FleetSlots full("service_version", kCycleNs, 10);
  add_service(plan, 1, &full);
  EXPECT_NE(history_of(&full, 0.01).trouble.find("too many"), std::string::npos);
}

TEST(FleetHistory, ServicesShareTheRate) {
  FleetSlots slots("service_version", kCycleNs);
  ServicePlan plan;
  plan.function_bytes = 20e6;
  plan.hosts = 20;
  plan.changed = "f4";
  plan.factor = 1.5;
  plan.changes_at = 5.5;
  add_service(plan, 1, &slots);
  plan.service = "web";
  plan.days = 10;  // its days are others, and with half of the rate they are too few
  add_service(plan, 2, &slots);
  const FleetHistory history = history_of(&slots, 0.01);
  ASSERT_EQ(history.services.size(), 2U);
  EXPECT_EQ(history.services[0].trouble, "");
  EXPECT_NE(history.services[1].trouble.find("share the rate"), std::string::npos);
  ASSERT_NE(change_of(history, "f4"), nullptr);
  EXPECT_LE(change_of(history, "f4")->p_value, 0.01);
}

}  // namespace
}  // namespace memprof::profile
