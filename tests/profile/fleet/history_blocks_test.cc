// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/history_blocks.h"

#include <gtest/gtest.h>

#include "tests/profile/fleet/shipped_look.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kHour = 3600;
constexpr uint64_t kDay = 24 * kHour;
constexpr uint64_t kDayInNs = kDay * 1'000'000'000;

// Each three hours for `days`; f holds more by day than by night.
double by_day(uint64_t hour) {
  return hour % 24 < 12 ? 300 : 100;
}

template <typename Keep>
void add_host(const std::string& host, double bytes, uint64_t days, const Keep& keep, FleetSlots* slots) {
  for (uint64_t hour = 0; hour < 24 * days; hour += 3) {
    if (!keep(hour)) continue;
    slots->add(shipped_profile(
        {"shop", host, "1", kPlanBegin + hour * kHour, {{"f", bytes * by_day(hour)}, {"g", 50}}}));
  }
}

bool always(uint64_t /*hour*/) {
  return true;
}

TEST(HistoryBlocks, ADailyCycleIsTheSameEachDay) {
  FleetSlots slots("service_version", kDayInNs);
  add_host("a", 1, 5, always, &slots);
  // Of another size, and it is not looked at in some nights, and by day in others.
  add_host(
      "b", 3, 5, [](uint64_t hour) { return hour / 24 % 2 == 0 ? hour % 24 < 18 : hour % 24 > 3; }, &slots);
  const Calendar calendar = calendar_of(slots);
  EXPECT_EQ(calendar.blocks, 5U);
  EXPECT_EQ(calendar.cycles, 1U);
  HistoryBlocks blocks(&slots.services().at("shop"), calendar);
  EXPECT_EQ(blocks.hosts(), 2U);
  EXPECT_EQ(blocks.blocks(), (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  const std::vector<BlockRow> rows = blocks.rows(1);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].row, FleetSlots::kAllRow);
  for (const double value : rows[1].values) EXPECT_NEAR(value, 400, 40) << "of 200 and 600";
  for (const double value : rows[2].values) EXPECT_NEAR(value, 50, 1e-6);
  const auto of_a = blocks.values_of(rows[1].row)[0];
  for (const double value : of_a) EXPECT_NEAR(value, 200, 1e-6);
}

TEST(HistoryBlocks, HostsThatComeAndGoHaveNoPart) {
  FleetSlots slots("service_version", kDayInNs);
  for (const char* host : {"a", "b", "c"}) add_host(host, 1, 10, always, &slots);
  add_host("late", 50, 10, [](uint64_t hour) { return hour > 120; }, &slots);
  add_host("missed", 2, 10, [](uint64_t hour) { return hour / 24 != 4; }, &slots);
  HistoryBlocks blocks(&slots.services().at("shop"), calendar_of(slots));
  EXPECT_EQ(blocks.all_hosts(), 5U);
  EXPECT_EQ(blocks.hosts(), 4U);
  const std::vector<BlockRow> rows = blocks.rows(1);
  for (const double value : rows[1].values) EXPECT_NEAR(value, 250, 1e-3) << "of 200 three times, and 400";
}

TEST(HistoryBlocks, OneHostIsNoChangeOfTheService) {
  FleetSlots slots("service_version", kDayInNs);
  for (const char* host : {"a", "b", "c", "d"}) add_host(host, 1, 10, always, &slots);
  for (uint64_t hour = 0; hour < 240; hour += 3) {
    const double bytes = by_day(hour) * (hour < 120 ? 1 : 5);
    slots.add(shipped_profile({"shop", "bad", "1", kPlanBegin + hour * kHour, {{"f", bytes}}}));
  }
  const auto values = HistoryBlocks(&slots.services().at("shop"), calendar_of(slots)).rows(1)[1].values;
  EXPECT_NEAR(values[9], values[0], 1e-6);
}

TEST(HistoryBlocks, ManyDaysAreJoined) {
  FleetSlots slots("service_version", kDayInNs);
  add_host("a", 1, 100, always, &slots);
  const Calendar calendar = calendar_of(slots);
  EXPECT_EQ(calendar.cycles, 3U);
  EXPECT_EQ(calendar.blocks, 34U);
  HistoryBlocks blocks(&slots.services().at("shop"), calendar);
  EXPECT_EQ(blocks.blocks().size(), 33U) << "the first one is not whole";
  const std::vector<BlockRow> rows = blocks.rows(1);
  for (const double value : rows[1].values) EXPECT_NEAR(value, 200, 1e-3);
  EXPECT_NEAR(static_cast<double>(calendar.time_ns(34)) / 1e9,
              static_cast<double>(kPlanBegin + 100 * kDay - 2 * kHour), 1);
  EXPECT_EQ(calendar.time_ns(34) - calendar.time_ns(33), 3 * kDayInNs);
}

TEST(HistoryBlocks, TooFewLooksADayAreNone) {
  FleetSlots slots("service_version", kDayInNs);
  add_host("a", 1, 20, [](uint64_t hour) { return hour % 24 == 0; }, &slots);
  HistoryBlocks blocks(&slots.services().at("shop"), calendar_of(slots));
  EXPECT_EQ(blocks.hosts(), 0U);
  EXPECT_TRUE(blocks.rows(1).empty());
}

}  // namespace
}  // namespace memprof::profile
