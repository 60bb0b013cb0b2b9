// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/profile/fleet/shipped_look.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kRate = 65536;
constexpr uint64_t kSecondNs = 1'000'000'000;

struct Plan {
  int hosts = 20;
  int looks = 5;
  std::vector<std::string> versions = {"1"};
  std::string bad_host;
  std::string grown_version;
};

FleetResult made_fleet(const Plan& plan, uint64_t seed) {
  std::mt19937_64 random(seed);
  Fleet fleet("service_version");
  uint64_t second = 1'700'000'000;
  for (const std::string& version : plan.versions) {
    for (int host = 0; host < plan.hosts; ++host) {
      ShippedLook made;
      made.host = "h" + std::to_string(host);
      made.version = version;
      // Hosts differ: some have more to do.
      const double busy = std::normal_distribution<double>(1, 0.03)(random);
      for (int look = 0; look < plan.looks; ++look) {
        made.second = ++second;
        for (int f = 0; f < 30; ++f) {
          double bytes = busy * (f + 1) * 1e6;
          if (f == 20 && made.host == plan.bad_host) bytes *= 3;
          if (f == 10 && version == plan.grown_version) bytes *= 1.1;
          made.live["f" + std::to_string(f)] = as_sampled(bytes, kRate, &random);
        }
        EXPECT_TRUE(fleet.add(shipped_profile(made)));
      }
    }
  }
  return fleet.result();
}

TEST(Fleet, SumsAreThoseOfTheLooks) {
  Fleet fleet("service_version");
  EXPECT_FALSE(fleet.add(Profile())) << "it has no labels";
  for (const char* host : {"a", "b"}) {
    for (uint64_t look = 1; look <= 2; ++look) {
      fleet.add(
          shipped_profile({"shop", host, "1", look, {{"f", 100.0 * static_cast<double>(look)}, {"g", 50}}}));
    }
  }
  fleet.add(shipped_profile({"other", "a", "1", 9, {{"f", 7}}}));
  const FleetResult result = fleet.result();
  EXPECT_EQ(result.files, 5U);
  EXPECT_EQ(result.hosts, 2U);
  EXPECT_EQ(result.last_ns - result.first_ns, 8 * kSecondNs);
  ASSERT_EQ(result.services.size(), 2U);
  EXPECT_EQ(result.services[0].name, "shop");
  EXPECT_EQ(result.services[0].looks, 4U);
  EXPECT_EQ(result.services[0].live_bytes, 2 * (150 + 50));
  EXPECT_EQ(result.services[0].allocated_bytes, 2 * 2 * (100 + 200 + 50 + 50));
  EXPECT_EQ(result.services[1].live_bytes, 7);
}

TEST(Fleet, NamesTheBadHostAndTheFunctionThatGrewAndNothingElse) {
  Plan plan;
  plan.versions = {"9", "10"};  // in the order of their first looks, not of their names
  plan.bad_host = "h7";
  plan.grown_version = "10";
  const FleetResult result = made_fleet(plan, 1);
  ASSERT_GE(result.outliers.size(), 1U);
  for (const FleetOutlier& row : result.outliers) EXPECT_EQ(row.host, "h7") << row.function;
  // The row of the function and that of all functions.
  const auto function = std::find_if(result.outliers.begin(), result.outliers.end(),
                                     [](const FleetOutlier& row) { return row.function == "f20"; });
  ASSERT_NE(function, result.outliers.end());
  EXPECT_NEAR(function->bytes, 63e6, 8e6);
  EXPECT_NEAR(function->others_bytes, 21e6, 1e6);
  ASSERT_EQ(result.changes.size(), 1U);
  EXPECT_EQ(result.changes[0].function, "f10");
  EXPECT_EQ(result.changes[0].before, "9");
  EXPECT_EQ(result.changes[0].after, "10");
  EXPECT_NEAR(result.changes[0].after_bytes / result.changes[0].before_bytes, 1.1, 0.04);
}

// At most 5 % of fleets in which nothing differs but by chance have a name in them: of 60 the odds of more than 12 are
// less than 1e-5.
TEST(Fleet, FalseAlarmsAreFew) {
  Plan plan;
  plan.versions = {"1", "2"};
  plan.hosts = 8;
  plan.looks = 2;
  int named = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const FleetResult result = made_fleet(plan, seed);
    named += result.outliers.empty() && result.changes.empty() ? 0 : 1;
  }
  EXPECT_LE(named, 12);
}

TEST(Fleet, FewSamplesNameNobody) {
  Fleet fleet("service_version");
  for (int host = 0; host < 10; ++host) {
    ShippedLook made;
    made.host = "h" + std::to_string(host);
    made.live = {{"f", 1e3}};
    // One sample of a function that nobody else has.
    if (host == 3) made.live["rare"] = static_cast<double>(kRate);
    fleet.add(shipped_profile(made));
  }
  EXPECT_TRUE(fleet.result().outliers.empty());
}

TEST(Fleet, LabelsThatAreDamagedAreNone) {
  Profile profile;
  for (const char* text : {"labels: {", "labels: []", "labels: {\"a\":1}", "label: {}"}) {
    profile.comments = {text};
    EXPECT_FALSE(shipped_labels(profile)) << text;
  }
  profile.comments = {"else", "labels: {\"a\":\"b\"}"};
  EXPECT_EQ(shipped_labels(profile)->at("a"), "b");
}

}  // namespace
}  // namespace memprof::profile
