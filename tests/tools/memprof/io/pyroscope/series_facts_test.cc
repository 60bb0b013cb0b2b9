// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/series_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using nlohmann::json;
using profile::Metric;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json series(const std::string& type, const std::map<std::string, std::string>& more) {
  json labels = json::array({{{"name", "__profile_type__"}, {"value", type}}});
  for (const auto& [name, value] : more) labels.push_back({{"name", name}, {"value", value}});
  return {{"labels", labels}};
}

json point(const std::string& time, const json& value) {
  return {{"timestamp", time}, {"value", value}};
}

json answer_of(const std::string& host, const std::vector<json>& points) {
  json series = {{"labels", json::array({{{"name", "host"}, {"value", host}}})}};
  series["points"] = points;
  return {{"series", json::array({series})}};
}

TEST(SeriesFacts, TypesAndLabels) {
  const SeriesFacts facts = series_facts(
      {{"labelsSet",
        {series("memory:inuse_space:bytes:space:bytes",
                {{"host", "a"}, {"service_name", "s"}, {"__name__", "memory"}}),
         series("memory:alloc_objects:count:space:bytes", {{"host", "b"}, {"memory_pressure", "90"}}),
         series("memory:inuse_space:count:space:bytes", {{"host", "c"}}),
         series("process_cpu:cpu:nanoseconds:cpu:nanoseconds", {{"host", "d"}})}}},
      "", "u");
  EXPECT_EQ(facts.types.at(Metric::kInuseSpace), "memory:inuse_space:bytes:space:bytes");
  EXPECT_EQ(facts.types.at(Metric::kAllocObjects), "memory:alloc_objects:count:space:bytes");
  EXPECT_EQ(facts.types.size(), 2U);
  EXPECT_THAT(facts.other_types, ElementsAre("memory:inuse_space:count:space:bytes",
                                             "process_cpu:cpu:nanoseconds:cpu:nanoseconds"));
  EXPECT_THAT(facts.labels.at("host"), ElementsAre("a", "b"));
  EXPECT_THAT(counted_labels(facts), ElementsAre("host", "service_name"));
}

TEST(SeriesFacts, NothingIsNoType) {
  EXPECT_TRUE(series_facts(json::object(), "", "u").types.empty());
  EXPECT_TRUE(series_facts({{"labelsSet", 3}}, "", "u").types.empty());
}

TEST(SeriesFacts, OfSeveralNamesOneIsChosen) {
  const json two = {{"labelsSet",
                     {series("memory:inuse_space:bytes:space:bytes", {}),
                      series("space:inuse_space:bytes:space:bytes", {})}}};
  EXPECT_EQ(series_facts(two, "space", "u").types.at(Metric::kInuseSpace),
            "space:inuse_space:bytes:space:bytes");
  try {
    series_facts(two, "", "u");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("u: has profiles of memory by several names: memory, space"));
  }
}

TEST(SeriesFacts, LooksAreTheSumByTheMean) {
  LookCounts counts;
  count_looks(answer_of("a", {point("1", 60), point("2", 40.0)}),
              answer_of("a", {point("1", 20), point("2", 10.1)}), "host", &counts);
  EXPECT_EQ(look_range(counts).most, 7U);
  // Of another type there were fewer in the first step, because some looks had nothing of it, and one more later.
  count_looks(answer_of("a", {point("1", 6), point("3", 5)}), answer_of("a", {point("1", 3), point("3", 5)}),
              "host", &counts);
  EXPECT_EQ(look_range(counts).most, 8U);
  count_looks(answer_of("b", {point("1", 6)}), answer_of("b", {point("1", 2)}), "host", &counts);
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_EQ(look_range(counts).most, 8U);
  EXPECT_EQ(look_range(counts).fewest, 3U);
}

// A container's entry point executes the program: two series, one after the other, of a host's three looks.
TEST(SeriesFacts, SeriesOfAHostHaveItsLooks) {
  const auto of = [](double first, double second) {
    const auto series = [](const char* program, const std::vector<json>& points) {
      json one;
      one["labels"] =
          json::array({{{"name", "host"}, {"value", "a"}}, {{"name", "program"}, {"value", program}}});
      one["points"] = points;
      return one;
    };
    return json{{"series", json::array({series("sh", {point("1", first)}),
                                        series("server", {point("1", second), point("2", second)})})}};
  };
  LookCounts counts;
  count_looks(of(10, 20), of(10, 20), "host", &counts);
  EXPECT_EQ(look_range(counts).most, 2U);
  counts.clear();
  count_looks(of(10, 20), of(10, 20), "", &counts);
  EXPECT_EQ(counts.size(), 2U) << "nobody is named: each has its own";
  EXPECT_EQ(look_range(counts).fewest, 1U);
}

TEST(SeriesFacts, WhoLooksIsTheHost) {
  SeriesFacts facts;
  EXPECT_EQ(looker_label(facts), "");
  facts.labels["pod"] = {"p"};
  EXPECT_EQ(looker_label(facts), "pod");
  facts.labels["host_name"] = {"a"};
  EXPECT_EQ(looker_label(facts), "host_name");
  facts.labels["host"] = {"a"};
  EXPECT_EQ(looker_label(facts), "host");
}

TEST(SeriesFacts, WhatIsNoCountIsLeftOut) {
  LookCounts counts;
  count_looks(answer_of("a", {point("1", "NaN")}), answer_of("a", {point("1", "NaN")}), "host", &counts);
  count_looks(answer_of("a", {point("1", 0)}), answer_of("a", {point("1", 0)}), "host", &counts);
  count_looks(answer_of("a", {point("1", 5)}), json::object(), "host", &counts);
  count_looks(answer_of("a", {point("1", 1e300)}), answer_of("a", {point("1", 1e-300)}), "host", &counts);
  EXPECT_EQ(look_range(counts).most, 0U);
  EXPECT_EQ(look_range({}).fewest, 0U);
}

}  // namespace
}  // namespace memprof::cli
