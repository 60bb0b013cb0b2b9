// SPDX-License-Identifier: Apache-2.0
#include "profile/report_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using nlohmann::ordered_json;
using report_fixture::Builder;

ordered_json json_of(Builder& b) {
  return ordered_json::parse(report_json(build_report(b.profile())));
}

std::string keys(const ordered_json& json) {
  std::string all;
  for (const auto& item : json.items()) all += item.key() + " ";
  return all;
}

// The interface that docs/report-json.md describes: exactly these fields, in this order.
TEST(ReportJson, HasTheDocumentedFields) {
  Builder b(1000);
  b.stack({b.at("f(int)", "/src/f.cc", 3)}, 100, 5);
  const ordered_json json = json_of(b);
  EXPECT_EQ(keys(json), "program pid rate_bytes samples dropped_samples totals rows ");
  EXPECT_EQ(keys(json["totals"]), "alloc_objects alloc_space inuse_objects inuse_space ");
  EXPECT_EQ(keys(json["totals"]["inuse_space"]), "value low high ");
  EXPECT_EQ(keys(json["rows"][0]), "name file line module self cumulative ");
  EXPECT_EQ(keys(json["rows"][0]["self"]), "alloc_objects alloc_space inuse_objects inuse_space ");
  EXPECT_EQ(keys(json["rows"][0]["cumulative"]["alloc_space"]), "value low high ");
  EXPECT_EQ(json["program"], "server");
  EXPECT_EQ(json["pid"], 4711);
  EXPECT_EQ(json["rate_bytes"], 1000);
  EXPECT_EQ(json["samples"], 5);
  EXPECT_EQ(json["dropped_samples"], 0);
  EXPECT_EQ(json["rows"][0]["name"], "f(int)");
  EXPECT_EQ(json["rows"][0]["file"], "/src/f.cc");
  EXPECT_EQ(json["rows"][0]["line"], 3);
  EXPECT_EQ(json["rows"][0]["module"], "server");
}

TEST(ReportJson, NumbersAreIntegersRoundedOnce) {
  Builder b(1000);
  b.stack({b.at("f")}, 100, 5);
  const ordered_json json = json_of(b);
  // 5 / (1 - e^-0.1) = 52.5417, times 100 = 5254.17
  EXPECT_EQ(json["totals"]["inuse_objects"]["value"], 53);
  EXPECT_EQ(json["totals"]["inuse_space"]["value"], 5254);
  for (const auto& metric : json["totals"]) {
    EXPECT_TRUE(metric["value"].is_number_integer());
    EXPECT_LE(metric["low"], metric["value"]);
    EXPECT_GE(metric["high"], metric["value"]);
    EXPECT_LT(metric["low"], metric["high"]);
  }
}

TEST(ReportJson, AnExactProfileHasIntervalsWithoutWidth) {
  Builder b;
  b.stack({b.at("f")}, 100, 5);
  const ordered_json value = json_of(b)["rows"][0]["self"]["inuse_space"];
  EXPECT_EQ(value["low"], 500);
  EXPECT_EQ(value["value"], 500);
  EXPECT_EQ(value["high"], 500);
}

TEST(ReportJson, WhatAProfileByOthersDoesNotSayIsNull) {
  Builder b;
  b.profile().from_memprof = false;
  b.profile().pid = 0;
  b.profile().has_metric = {false, false, false, true};
  Stack stack;
  stack.locations = {b.at("f")};
  stack.values = {0, 0, 0, 77};
  b.profile().stacks.push_back(stack);
  const ordered_json json = json_of(b);
  EXPECT_TRUE(json["pid"].is_null());
  EXPECT_TRUE(json["samples"].is_null());
  EXPECT_EQ(json["totals"]["inuse_space"]["value"], 77);
  EXPECT_TRUE(json["totals"]["inuse_space"]["low"].is_null());
  EXPECT_TRUE(json["totals"]["alloc_space"]["value"].is_null());
}

TEST(ReportJson, AnyBytesMayBeInANameAndTheOutputIsStillJson) {
  Builder b;
  b.stack({b.at("bad \xff\"\n")}, 1, 1);
  EXPECT_EQ(json_of(b)["rows"][0]["name"], "bad \xEF\xBF\xBD\"\n");
}

TEST(ReportJson, AProfileWithoutSamplesHasNoRows) {
  Builder b;
  const ordered_json json = json_of(b);
  EXPECT_TRUE(json["rows"].is_array());
  EXPECT_TRUE(json["rows"].empty());
  EXPECT_EQ(json["totals"]["inuse_space"]["value"], 0);
}

}  // namespace
}  // namespace memprof::profile
