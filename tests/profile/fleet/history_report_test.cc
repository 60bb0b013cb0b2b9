// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/history_report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kHourNs = 3'600'000'000'000;

FleetHistory history_with_changes() {
  FleetHistory history;
  history.rate = 0.01;
  history.looks = 1000;
  history.last_ns = 480 * kHourNs;
  history.cycle_ns = 24 * kHourNs;
  const Rollout rollout{"7", 240 * kHourNs, 250 * kHourNs};
  history.services = {{"shop", 8, 10, 20, 40, "", true, {rollout}}, {"web", 1, 1, 2, 0, "2 days", false, {}}};
  HistoryChange change;
  change.service = "shop";
  change.function = "f";
  change.time_ns = 241 * kHourNs;
  change.low_ns = 230 * kHourNs;
  change.high_ns = 250 * kHourNs;
  change.before_bytes = 1000;
  change.before_half_bytes = 10;
  change.after_bytes = 1500;
  change.after_half_bytes = 20;
  change.change_half_bytes = 100;
  change.rollouts = {rollout};
  history.changes.push_back(change);
  change.function = "leak";
  change.shape = ChangeShape::kGrowth;
  change.bytes_a_day = 50;
  change.bytes_a_day_half = 5;
  change.rollouts.clear();
  history.changes.push_back(change);
  change.function = "either";
  change.shape = ChangeShape::kUnclear;
  change.before_bytes = 0;
  history.changes.push_back(change);
  return history;
}

TEST(HistoryReport, TheAnswerIsFirst) {
  const std::string text = history_text(history_with_changes(), 20);
  EXPECT_EQ(text.find("3 changes:\n"), 0U) << text;
  for (const char* line :
       {"  shop: f: +50.0 % at 1970-01-11 ", "    between 1970-01-10 ",
        "    a host: 1000 B (± 10 B) to 1.5 KiB (± 20 B): +400 B to +600 B\n",
        "    with the rollout of 7 (1970-01-1",
        "  shop: leak: +50.0 %, grows by +50 B a day (± 5 B) since 1970-", "    no rollout then (1 in all)\n",
        "  shop: either: new at 1970-", ", or grows: too little to tell which\n",
        "with a chance of 1 % at most", "1,000 looks over 20 days:\n",
        "  shop: 8 of 10 hosts, 20 blocks of 24 h, 40 functions\n", "  web: not looked at: 2 days\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_NE(history_text(history_with_changes(), 1).find("  and 2 more (-n)\n"), std::string::npos);
}

TEST(HistoryReport, WhatCannotBeSaidIsNoGoodNews) {
  FleetHistory history = history_with_changes();
  history.changes.clear();
  EXPECT_EQ(history_text(history, 20).find("No change that is more than chance.\n"), 0U);
  history.services.erase(history.services.begin());
  EXPECT_EQ(history_text(history, 20).find("Nothing can be said of changes: there is too little"), 0U);
  EXPECT_EQ(history_text(history, 20).find("with a chance"), std::string::npos);
  history.trouble = "too many";
  EXPECT_EQ(history_text(history, 20).find("Nothing can be said of changes: too many.\n"), 0U);
}

TEST(HistoryReport, VersionsThatAreNotKnownAreSaid) {
  FleetHistory history = history_with_changes();
  history.services[0].rollouts.clear();
  EXPECT_NE(history_text(history, 20).find("its version did not change"), std::string::npos);
  history.services[0].has_versions = false;
  EXPECT_NE(history_text(history, 20).find("no version is known (--version-label)"), std::string::npos);
}

TEST(HistoryReport, JSONHasAllOfIt) {
  const auto json = json_from_text(history_json(history_with_changes()));
  EXPECT_EQ(json.at("false_alarms"), 0.01);
  EXPECT_EQ(json.at("over_time").size(), 3U);
  EXPECT_EQ(json.at("over_time").at(0).at("kind"), "shift");
  EXPECT_TRUE(json.at("over_time").at(0).at("bytes_a_day").is_null());
  EXPECT_EQ(json.at("over_time").at(0).at("low"), 400);
  EXPECT_EQ(json.at("over_time").at(0).at("before_high"), 1010);
  EXPECT_EQ(json.at("over_time").at(0).at("rollouts").at(0).at("version"), "7");
  EXPECT_EQ(json.at("over_time").at(1).at("kind"), "growth");
  EXPECT_EQ(json.at("over_time").at(1).at("bytes_a_day"), 50);
  EXPECT_TRUE(json.at("services").at(0).at("trouble").is_null());
  EXPECT_EQ(json.at("services").at(1).at("trouble"), "2 days");
}

}  // namespace
}  // namespace memprof::profile
