// SPDX-License-Identifier: Apache-2.0
#include "profile/model/stack_health.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

TEST(StackHealth, SharesOfSamplesAndBytesAndDepths) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f, f, f, f}, 1, 6).stack({f}, 94, 1, 0).stack({f, f}, 0, 3);
  b.profile().stacks[1].walk = Walk::kNoRule;
  b.profile().walks = {9, 0, 0, 0, 1};
  const auto health = stack_health(b.profile());
  ASSERT_TRUE(health.has_value());
  EXPECT_EQ(health->walks, 10u);
  EXPECT_EQ(health->truncated(), 1u);
  EXPECT_DOUBLE_EQ(health->truncation_rate(), 0.1);
  EXPECT_DOUBLE_EQ(health->total_allocated_bytes, 100);
  EXPECT_DOUBLE_EQ(health->allocated_bytes[static_cast<size_t>(Walk::kNoRule)], 94) << "also what is freed";
  EXPECT_EQ(health->min_depth, 1u);
  EXPECT_EQ(health->median_depth, 4u);
  EXPECT_DOUBLE_EQ(*health->mean_depth, (6 * 4 + 1 + 3 * 2) / 10.0);
}

TEST(StackHealth, AStackWithBothEndsIsComplete) {
  Builder b;
  b.stack({b.at("f")}, 12, 5).stack({b.at("g")}, 5, 4).stack({b.at("h")}, 20, 1);
  b.profile().walks = {5, 1, 0, 0, 0, 4};
  b.profile().stacks[1].walk = Walk::kMiddleLeftOut;
  b.profile().stacks[2].walk = Walk::kDepthLimit;
  const auto health = stack_health(b.profile());
  EXPECT_EQ(health->complete(), 9u);
  EXPECT_EQ(health->truncated(), 1u);
  EXPECT_DOUBLE_EQ(health->truncation_rate(), 0.1);
  EXPECT_DOUBLE_EQ(health->complete_bytes(), 80);
  for (const Stack& stack : b.profile().stacks) {
    EXPECT_EQ(is_cut(stack), stack.walk == Walk::kDepthLimit) << "the tree's sense is the same";
  }
}

TEST(StackHealth, WhatAFullTableTookIsCountedApart) {
  Builder b;
  const uint32_t lost = b.at("[older stacks]");
  b.stack({b.at("f"), lost, b.at("main")}, 12, 5).stack({b.at("g")}, 36, 4).stack({lost}, 2, 1);
  b.profile().walks = {10};
  const auto health = stack_health(b.profile());
  ASSERT_TRUE(health);
  EXPECT_EQ(health->truncated(), 0u);
  EXPECT_DOUBLE_EQ(health->shortened_bytes, 62);
  EXPECT_DOUBLE_EQ(health->total_allocated_bytes, 206);
}

TEST(StackHealth, AllOfTheBytesAreAll) {
  Builder b;
  for (int i = 0; i < 50; ++i) {
    b.stack({b.at("f" + std::to_string(i))}, 0.1 * i + 0.3, 1);
    b.profile().stacks.back().walk = i % 3 == 0 ? Walk::kMiddleLeftOut : Walk::kRoot;
  }
  b.profile().walks = {33, 0, 0, 0, 0, 17};
  const auto health = stack_health(b.profile());
  EXPECT_EQ(health->complete_bytes(), health->total_allocated_bytes);
}

TEST(StackHealth, TheMedianOfAnEvenNumberIsTheLowerOne) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f, f, f}, 1, 1).stack({f}, 1, 1);
  EXPECT_EQ(stack_health(b.profile())->median_depth, 1u);
  b.stack({f, f}, 1, 1);
  EXPECT_EQ(stack_health(b.profile())->median_depth, 2u);
}

TEST(StackHealth, InlinedFunctionsAddNoDepth) {
  Builder b;
  const uint32_t f = b.at("f");
  b.profile().locations[f].lines.push_back(b.profile().locations[f].lines[0]);
  b.stack({f}, 1, 1);
  EXPECT_EQ(stack_health(b.profile())->median_depth, 1u);
}

TEST(StackHealth, AProfileThatDoesNotSayHasNone) {
  Builder b;
  EXPECT_FALSE(stack_health(b.profile()).has_value());
}

TEST(StackHealth, WithoutStatisticsThereAreSharesOfSamplesOnly) {
  Builder b;
  b.stack({b.at("f")}, 1, 4);
  b.profile().stacks[0].has_statistics = false;
  b.profile().walks = {3, 1, 0, 0, 0};
  const auto health = stack_health(b.profile());
  ASSERT_TRUE(health.has_value());
  EXPECT_DOUBLE_EQ(health->truncation_rate(), 0.25);
  EXPECT_FALSE(health->median_depth.has_value());
  EXPECT_EQ(health->total_allocated_bytes, 0);
}

// Some of the stacks of a profile that another program merged have kept theirs.
TEST(StackHealth, SomeStacksSayNothingOfAll) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f}, 1, 10).stack({f, f}, 1, 10);
  b.profile().stacks[1].has_statistics = false;
  const auto health = stack_health(b.profile());
  ASSERT_TRUE(health);
  EXPECT_EQ(health->walks, 20u);
  EXPECT_FALSE(health->min_depth || health->median_depth || health->mean_depth);
  EXPECT_EQ(health->total_allocated_bytes, 0);
}

TEST(StackHealth, ConfidenceIsThatOfTheSpecification) {
  EXPECT_STREQ(confidence_name(0), "high");
  EXPECT_STREQ(confidence_name(0.0499), "high");
  EXPECT_STREQ(confidence_name(0.05), "medium");
  EXPECT_STREQ(confidence_name(0.1999), "medium");
  EXPECT_STREQ(confidence_name(0.20), "low");
}

TEST(StackHealth, NamesOfWalks) {
  EXPECT_STREQ(walk_name(Walk::kRoot), "root");
  EXPECT_STREQ(walk_name(Walk::kNoRule), "no_rule");
  EXPECT_STREQ(walk_name(Walk::kMiddleLeftOut), "middle_left_out");
}

}  // namespace
}  // namespace memprof::profile
