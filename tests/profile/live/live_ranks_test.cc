// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace memprof::profile {
namespace {

// The keys in their order after one more look.
std::string look(LiveRanks* ranks, const std::vector<RankedValue>& rows) {
  std::string keys;
  for (const size_t i : ranks->look(rows)) keys += rows[i].key;
  return keys;
}

TEST(LiveRanks, TheFirstLookIsByValue) {
  LiveRanks ranks;
  EXPECT_EQ(look(&ranks, {{"a", 1}, {"b", 3}, {"c", 2}, {"d", 3}}), "bdca") << "equal ones as they come";
  EXPECT_EQ(look(&ranks, {}), "");
}

TEST(LiveRanks, ASmallChangeThatComesAndGoesMovesNothing) {
  LiveRanks ranks;
  look(&ranks, {{"a", 100}, {"b", 98}});
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(look(&ranks, {{"a", 100}, {"b", i % 2 == 0 ? 104.0 : 98.0}}), "ab");
    EXPECT_EQ(look(&ranks, {{"a", 100}, {"b", i % 2 == 0 ? 104.0 : 98.0}}), "ab");
  }
}

TEST(LiveRanks, ASmallChangeThatStaysMovesAfterThreeLooks) {
  LiveRanks ranks;
  look(&ranks, {{"a", 100}, {"b", 98}});
  EXPECT_EQ(look(&ranks, {{"a", 100}, {"b", 104}}), "ab");
  EXPECT_EQ(look(&ranks, {{"a", 100}, {"b", 104}}), "ab");
  EXPECT_EQ(look(&ranks, {{"a", 100}, {"b", 104}}), "ba");
}

TEST(LiveRanks, ALargeChangeMovesAtOnce) {
  LiveRanks ranks;
  look(&ranks, {{"a", 100}, {"b", 98}, {"c", 1}});
  EXPECT_EQ(look(&ranks, {{"a", 100}, {"b", 98}, {"c", 500}}), "cab");
  EXPECT_EQ(look(&ranks, {{"a", 0}, {"b", 98}, {"c", 500}}), "cba");
  EXPECT_EQ(look(&ranks, {{"a", -5}, {"b", -90}, {"c", 500}}), "cab") << "growth can be below zero";
}

TEST(LiveRanks, RowsComeAndGo) {
  LiveRanks ranks;
  look(&ranks, {{"a", 3}, {"b", 2}});
  EXPECT_EQ(look(&ranks, {{"b", 2}, {"n", 2.5}, {"a", 3}}), "anb");
  EXPECT_EQ(look(&ranks, {{"b", 2}, {"n", 2.5}}), "nb");
  EXPECT_EQ(look(&ranks, {{"x", 9}}), "x");
}

TEST(LiveRanks, AnotherOrderBeginsAnew) {
  LiveRanks ranks;
  look(&ranks, {{"a", 100}, {"b", 98}});
  ranks.forget();
  EXPECT_EQ(look(&ranks, {{"a", 100}, {"b", 101}}), "ba");
}

// Whatever was before: values that stay are in order in the end, and each row is there once.
TEST(LiveRanks, WhatStaysIsInItsPlaceInTheEnd) {
  std::mt19937 random(5);
  for (int round = 0; round < 30; ++round) {
    LiveRanks ranks;
    std::vector<RankedValue> rows;
    for (int i = 0; i < 40; ++i) rows.push_back({std::to_string(i), 0});
    for (int i = 0; i < 20; ++i) {
      for (RankedValue& row : rows) row.value = static_cast<double>(random() % 200);
      std::vector<size_t> order = ranks.look(rows);
      std::sort(order.begin(), order.end());
      for (size_t k = 0; k < rows.size(); ++k) ASSERT_EQ(order[k], k);
    }
    std::vector<size_t> order;
    for (int i = 0; i < 400; ++i) order = ranks.look(rows);
    for (size_t i = 1; i < order.size(); ++i) ASSERT_GE(rows[order[i - 1]].value, rows[order[i]].value);
  }
}

}  // namespace
}  // namespace memprof::profile
