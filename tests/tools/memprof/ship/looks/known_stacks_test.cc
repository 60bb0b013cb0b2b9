// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/known_stacks.h"

#include <gtest/gtest.h>

#include "profile/model/metric.h"

namespace memprof::cli {
namespace {

using profile::Metric;
using profile::metric_index;

// Stacks of functions, innermost first, in one file.
profile::Profile profile_of(const std::vector<std::vector<std::string>>& stacks, uint64_t start = 0x1000) {
  profile::Profile profile;
  for (size_t i = 0; i < profile::kFirstMetrics; ++i) profile.has_metric[i] = true;
  profile.mappings = {{start, start + 0x9000, 0, "/bin/a", "abcd", true, true, true, false}};
  for (const std::vector<std::string>& functions : stacks) {
    profile::Stack stack;
    for (const std::string& name : functions) {
      const auto index = static_cast<uint32_t>(profile.functions.size());
      profile.functions.push_back({name, name, "a.c", 1});
      stack.locations.push_back(static_cast<uint32_t>(profile.locations.size()));
      const uint64_t place = std::hash<std::string>()(name) % 0x8000;
      profile.locations.push_back({start + place, 0, false, {{index, 7}}});
    }
    profile.stacks.push_back(std::move(stack));
  }
  return profile;
}

std::vector<std::string> functions_of(const profile::Profile& profile, size_t stack) {
  std::vector<std::string> names;
  for (const uint32_t location : profile.stacks[stack].locations) {
    names.push_back(profile.functions[profile.locations[location].lines[0].function].name);
  }
  return names;
}

profile::MetricValues bytes(double held) {
  profile::MetricValues values{};
  values[metric_index(Metric::kInuseSpace)] = held;
  return values;
}

KnownGroup* begun(KnownStacks* known, const std::string& labels, const profile::Profile& profile) {
  known->begin(labels, profile, std::make_shared<profile::Forwarders>());
  return known->find(labels);
}

TEST(KnownStacks, ARowIsOneForAllProcessesAndGroups) {
  KnownStacks known;
  const profile::Profile first = profile_of({{"f", "main"}, {"g", "main"}});
  KnownGroup* const a = begun(&known, "a", first);
  KnownGroup* const b = begun(&known, "b", first);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  const std::vector<uint32_t> rows = known.rows_of(first, *a);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NE(rows[0], rows[1]);
  // Another process has the file elsewhere.
  const std::vector<uint32_t> others = known.rows_of(profile_of({{"g", "main"}, {"h", "main"}}, 0x70000), *b);
  EXPECT_EQ(others[0], rows[1]);
  const profile::Profile shown =
      known.profile_of({others[1], rows[1], rows[0]}, {bytes(1), bytes(2), bytes(3)});
  EXPECT_EQ(functions_of(shown, 0), (std::vector<std::string>{"h", "main"}));
  EXPECT_EQ(functions_of(shown, 1), (std::vector<std::string>{"g", "main"}));
  EXPECT_EQ(functions_of(shown, 2), (std::vector<std::string>{"f", "main"}));
  EXPECT_EQ(shown.stacks[2].values, bytes(3));
  EXPECT_EQ(shown.mappings.size(), 1U);
  EXPECT_EQ(shown.locations.size(), 4U) << "main is one";
  EXPECT_TRUE(shown.stacks[0].parts.empty());
}

TEST(KnownStacks, AProfileHasOnlyWhatItsRowsHave) {
  KnownStacks known;
  const profile::Profile all = profile_of({{"f", "main"}, {"g", "main"}});
  const KnownGroup* const group = begun(&known, "a", all);
  const std::vector<uint32_t> rows = known.rows_of(all, *group);
  const profile::Profile one = known.profile_of({rows[1]}, {bytes(5)});
  EXPECT_EQ(one.functions.size(), 2U);
  EXPECT_EQ(one.locations.size(), 2U);
  EXPECT_TRUE(known.profile_of({}, {}).stacks.empty());
}

// Stacks that differ in frames which reports do not show are one row.
TEST(KnownStacks, StacksThatAreShownAlikeAreOneRow) {
  KnownStacks known;
  const profile::Profile all = profile_of({{"malloc", "f", "main"}, {"calloc", "f", "main"}, {"g", "main"}});
  const std::vector<uint32_t> rows = known.rows_of(all, *begun(&known, "a", all));
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_NE(rows[0], rows[2]);
}

// What only forwards to the allocator is told by the whole look, not by the stacks that are new.
TEST(KnownStacks, ForwardersAreThoseOfTheGroup) {
  KnownStacks known;
  const profile::Profile all = profile_of({{"take", "f", "main"}, {"take", "g", "main"}});
  auto forwarders = std::make_shared<profile::Forwarders>();
  forwarders->add("take", "a");
  known.begin("a", all, forwarders);
  KnownGroup* const group = known.find("a");
  const std::vector<uint32_t> rows = known.rows_of(all, *group);
  EXPECT_EQ(functions_of(known.profile_of(rows, {bytes(1), bytes(1)}), 0),
            (std::vector<std::string>{"f", "main"}));
}

TEST(KnownStacks, AGroupIsLookedAtAsAWholeNowAndThen) {
  KnownStacks known;
  const profile::Profile all = profile_of({{"f", "main"}});
  EXPECT_EQ(known.find("a"), nullptr);
  known.begin("a", all, nullptr);
  for (size_t i = 0; i < KnownStacks::kLooks; ++i) ASSERT_NE(known.find("a"), nullptr);
  EXPECT_EQ(known.find("a"), nullptr);
  known.begin("a", all, nullptr);
  EXPECT_NE(known.find("a"), nullptr);
}

TEST(KnownStacks, AGroupWhoseStacksDoNotLastIsReadWhole) {
  KnownStacks known;
  profile::Profile all = profile_of({{"f", "main"}});
  begun(&known, "a", all)->is_read_whole = true;
  EXPECT_EQ(known.find("a"), nullptr);
  known.begin("a", all, nullptr);
  EXPECT_EQ(known.find("a"), nullptr) << "it is not asked at each look";
  for (size_t i = 0; i < KnownStacks::kLooks; ++i) known.find("a");
  known.begin("a", all, nullptr);
  EXPECT_NE(known.find("a"), nullptr);
  all.has_metric[metric_index(Metric::kJsSpace)] = true;
  EXPECT_EQ(begun(&known, "js", all), nullptr);
}

TEST(KnownStacks, GroupsThatAreGoneAreForgotten) {
  KnownStacks known;
  const profile::Profile all = profile_of({{"f", "main"}});
  known.begin("a", all, nullptr);
  known.begin("b", all, nullptr);
  known.begin_look();
  EXPECT_NE(known.find("a"), nullptr);
  known.begin_look();
  EXPECT_NE(known.find("a"), nullptr);
  EXPECT_EQ(known.find("b"), nullptr);
}

TEST(KnownStacks, WhatIsTooMuchIsForgottenAndNotBegunAnewAtOnce) {
  KnownStacks known(100);
  const profile::Profile all = profile_of({{"f", "main"}, {"g", "main"}});
  known.rows_of(all, *begun(&known, "a", all));
  known.begin_look();
  EXPECT_EQ(known.find("a"), nullptr);
  EXPECT_EQ(begun(&known, "a", all), nullptr);
  for (int i = 0; i < 600; ++i) known.begin_look();
  EXPECT_NE(begun(&known, "a", all), nullptr);
}

}  // namespace
}  // namespace memprof::cli
