// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/fleet_slots.h"

#include <gtest/gtest.h>

#include "tests/profile/fleet/shipped_look.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kDayNs = 86'400'000'000'000;

TEST(FleetSlots, SumsAreByHostSlotAndFunction) {
  FleetSlots slots("service_version", kDayNs);
  EXPECT_FALSE(slots.add(Profile())) << "it has no labels";
  // The same hour, in two versions; then the next one.
  EXPECT_TRUE(slots.add(shipped_profile({"shop", "a", "1", 3600, {{"f", 100}, {"g", 30}}})));
  EXPECT_TRUE(slots.add(shipped_profile({"shop", "a", "2", 3660, {{"f", 200}}})));
  EXPECT_TRUE(slots.add(shipped_profile({"shop", "a", "2", 7200, {{"f", 50}, {"small", 0.001}}})));
  EXPECT_TRUE(slots.add(shipped_profile({"shop", "b", "1", 3600, {}})));
  EXPECT_EQ(slots.looks(), 4U);
  EXPECT_EQ(slots.cycle_ns(), kDayNs);
  EXPECT_EQ(slots.rows(), (std::vector<std::string>{"(all)", "f", "g"}));
  const SlotService& service = slots.services().at("shop");
  EXPECT_EQ(service.rate_bytes, 65536U);
  EXPECT_EQ(service.versions.at("2").first_ns.at("a"), 3660'000'000'000U);
  ASSERT_EQ(service.hosts.size(), 2U);
  ASSERT_EQ(service.hosts.at("a").size(), 1U) << "a version is no series of its own";
  const SlotSeries& series = service.hosts.at("a").begin()->second;
  EXPECT_EQ(series.times.size(), 3U);
  ASSERT_EQ(series.sums.size(), 5U);
  EXPECT_EQ(series.sums[0].slot, 1U);
  EXPECT_EQ(series.sums[0].row, FleetSlots::kAllRow);
  EXPECT_EQ(series.sums[0].bytes, 330);
  EXPECT_EQ(series.sums[1].bytes, 300);
  EXPECT_EQ(series.sums[2].bytes, 30);
  EXPECT_EQ(series.sums[4].slot, 2U);
  EXPECT_EQ(series.sums[4].bytes, 50);
}

TEST(FleetSlots, MemoryIsBounded) {
  const auto filled = [](size_t max_sums) {
    FleetSlots slots("service_version", kDayNs, max_sums);
    for (uint64_t hour = 0; hour < 240; ++hour) {
      slots.add(shipped_profile({"shop", "a", "1", 3600 * hour, {{"f", 1}}}));
    }
    return slots;
  };
  EXPECT_EQ(filled(480).slots(), 24U);
  FleetSlots coarse = filled(200);
  EXPECT_LT(coarse.slots(), 24U);
  EXPECT_EQ(coarse.cycle_ns(), kDayNs);
  EXPECT_FALSE(coarse.is_full());
  double all = 0;
  for (const SlotSum& sum : coarse.services().at("shop").hosts.at("a").begin()->second.sums) all += sum.bytes;
  EXPECT_EQ(all, 480) << "nothing is lost";
  FleetSlots full = filled(40);
  EXPECT_TRUE(full.is_full());
  EXPECT_TRUE(full.services().empty());
  EXPECT_EQ(full.looks(), 240U);
}

}  // namespace
}  // namespace memprof::profile
