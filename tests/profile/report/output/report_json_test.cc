// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/lifetimes/temporary.h"
#include "profile/text/markup/json_text.h"
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
  EXPECT_EQ(
      keys(json),
      "program pid rate_bytes samples dropped_samples muted_bytes folded_stacks thinned_samples "
      "unseen_processes uncollected_processes budget_ppm cpu_ns sampling_ns "
      "folded_modules folded_functions folded_heaps "
      "dropped_mappings measured_resident_bytes anonymous_mapped_bytes anonymous_allocator_bytes "
      "anonymous_malloc_bytes anonymous_stacks_bytes anonymous_modules_bytes anonymous_own_bytes "
      "anonymous_unseen_bytes unsampled_processes bypassing_libraries "
      "small_processes small_allocated_bytes "
      "ended live_is_before_end oom_killed memory_stalled memory_stall_is_of_machine peak_after_ns peak_resident_bytes max_resident_bytes "
      "peak_files_bytes peak_free_bytes peak_resident_is_before memory_limit_bytes memory_pressure_percent "
      "memory_used_bytes memory_stall_some_ppm memory_stall_full_ppm metric totals rows "
      "stack_health ");
  EXPECT_EQ(keys(json["totals"]),
            "alloc_objects alloc_space inuse_objects inuse_space peak_objects peak_space ");
  EXPECT_EQ(keys(json["totals"]["inuse_space"]), "value low high ");
  EXPECT_EQ(keys(json["rows"][0]), "name file line module through called_by self cumulative ");
  EXPECT_EQ(keys(json["rows"][0]["self"]), keys(json["totals"]));
  EXPECT_EQ(json["metric"], "inuse_space");
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
  EXPECT_TRUE(json["rows"][0]["through"].is_null() && json["rows"][0]["called_by"].is_null());
}

TEST(ReportJson, SaysWhatALineAllocatedThroughAndForWhom) {
  Builder b;
  b.module("_umath.so");
  const uint32_t empty = b.at("array_empty");
  b.stack({empty, b.python("ones", "/v/site-packages/numpy/n.py", 12), b.python("prices", "app.py", 4)}, 100,
          5);
  const ordered_json row = json_of(b)["rows"][0];
  EXPECT_EQ(row["through"].dump(), R"({"function":"array_empty","module":"_umath.so"})");
  EXPECT_EQ(row["called_by"].dump(), R"({"function":"prices","file":"app.py","line":4})");
}

TEST(ReportJson, RatesAreThereWhereThereWasMoreThanOne) {
  Builder b(1000);
  b.stack({b.at("f")}, 100, 5);
  b.profile().rates = {{500, 100, 7}};
  EXPECT_EQ(json_of(b).count("rates"), 0u);
  b.profile().rates = {{500, 100, 7}, {1000, 50, 3}};
  const ordered_json json = json_of(b);
  EXPECT_EQ(keys(json).substr(0, 30), "program pid rate_bytes rates s");
  EXPECT_EQ(keys(json["rates"][0]), "rate_bytes weight_bytes time_ns ");
  EXPECT_EQ(json["rates"][1]["rate_bytes"], 1000);
  EXPECT_EQ(json["rates"][1]["weight_bytes"], 50);
  EXPECT_EQ(json["rates"][1]["time_ns"], 3);
}

TEST(ReportJson, WhatIsTemporaryIsThereWhereItIsAsked) {
  report_fixture::Builder b;
  b.stack({b.at("parse")}, 1000, 50, 0).freed_after(2000000);
  EXPECT_EQ(report_json(build_report(b.profile())).find("temporary"), std::string::npos);
  set_temporary(10000000, "x", &b.profile());
  const auto json = json_from_text(report_json(build_report(b.profile())));
  EXPECT_EQ(json["temporary_ns"], 10000000);
  EXPECT_EQ(json["unknown_lifetime_bytes"], 0);
  EXPECT_EQ(json["totals"]["temporary_space"]["value"], 50000);
  EXPECT_EQ(json["rows"][0]["self"]["temporary_objects"]["high"], 50);
}

TEST(ReportJson, NumbersAreIntegersRoundedOnce) {
  Builder b(1000);
  b.stack({b.at("f")}, 100, 5);
  const ordered_json json = json_of(b);
  // 5 / (1 - e^-0.1) = 52.5417, times 100 = 5254.17
  EXPECT_EQ(json["totals"]["inuse_objects"]["value"], 53);
  EXPECT_EQ(json["totals"]["inuse_space"]["value"], 5254);
  for (const auto& [name, metric] : json["totals"].items()) {
    if (name.rfind("peak", 0) == 0) continue;  // a profile without
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

TEST(ReportJson, StackHealthHasTheNamesOfTheSpecification) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f, f, f}, 10, 17).stack({f}, 10, 3);
  b.profile().stacks[1].walk = Walk::kNoRule;
  b.profile().walks = {17, 0, 0, 0, 3};
  const ordered_json health = json_of(b)["stack_health"];
  EXPECT_EQ(
      keys(health),
      "confidence truncation_rate shallow_stack_warnings total_native_stacks avg_native_depth "
      "median_native_depth min_native_depth shortened_alloc_space shortened_alloc_space_share endings ");
  EXPECT_EQ(health["confidence"], "medium");
  EXPECT_EQ(health["truncation_rate"], 0.15);
  EXPECT_EQ(health["shallow_stack_warnings"], 3);
  EXPECT_EQ(health["total_native_stacks"], 20);
  EXPECT_EQ(health["avg_native_depth"], 2.7);
  EXPECT_EQ(health["median_native_depth"], 3);
  EXPECT_EQ(health["min_native_depth"], 1);
  EXPECT_EQ(keys(health["endings"]), "root depth_limit bad_frame left_stack no_rule middle_left_out ");
  EXPECT_EQ(keys(health["endings"]["no_rule"]), "samples share alloc_space alloc_space_share ");
  EXPECT_EQ(health["endings"]["no_rule"]["samples"], 3);
  EXPECT_EQ(health["endings"]["no_rule"]["share"], 0.15);
  EXPECT_EQ(health["endings"]["no_rule"]["alloc_space"], 30);
  EXPECT_EQ(health["endings"]["no_rule"]["alloc_space_share"], 0.15);
}

TEST(ReportJson, AProfileByOthersHasNoStackHealth) {
  Builder b;
  EXPECT_TRUE(json_of(b)["stack_health"].is_null());
}

TEST(ReportJson, AFilterIsSaidAndTheTotalsStay) {
  Builder b;
  b.stack({b.at("f")}, 100, 1).stack({b.at("g")}, 10, 1);
  ReportOptions options;
  options.filter.ignore = Pattern("^g");
  const auto json = ordered_json::parse(report_json(build_report(b.profile(), options)));
  EXPECT_TRUE(json["focus"].is_null());
  EXPECT_EQ(json["ignore"], "^g");
  EXPECT_EQ(json["totals"]["inuse_space"]["value"], 110);
  EXPECT_EQ(json["selected"]["inuse_space"]["value"], 100);
  EXPECT_EQ(json["rows"].size(), 1u);
}

TEST(ReportJson, ATreeIsAFlatList) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t run = b.at("run", "/src/r.cc", 3);
  b.stack({b.at("f"), run, main}, 100, 1).stack({b.at("g"), run, main}, 10, 1);
  ReportOptions options;
  options.has_tree = true;
  options.tree.min_percent = 20;
  const auto json = ordered_json::parse(report_json(build_report(b.profile(), options)));
  EXPECT_EQ(keys(json["tree"]), "nodes hidden_roots hidden_root_value ");
  ASSERT_EQ(json["tree"]["nodes"].size(), 1u) << json["tree"];
  const ordered_json& top = json["tree"]["nodes"][0];
  EXPECT_EQ(keys(top), "parent depth frames self cumulative hidden_children hidden_value ");
  EXPECT_TRUE(top["parent"].is_null());
  EXPECT_EQ(top["frames"].size(), 3u) << "10 of 110 are less than 20 %";
  EXPECT_EQ(keys(top["frames"][1]), "name file line module ");
  EXPECT_EQ(top["frames"][1]["name"], "run");
  EXPECT_EQ(top["frames"][1]["line"], 3);
  options.tree.min_percent = 0;
  const auto all = ordered_json::parse(report_json(build_report(b.profile(), options)));
  ASSERT_EQ(all["tree"]["nodes"].size(), 3u);
  EXPECT_EQ(all["tree"]["nodes"][2]["parent"], 0);
  EXPECT_EQ(all["tree"]["nodes"][2]["depth"], 2);
  EXPECT_EQ(all["tree"]["nodes"][2]["self"]["inuse_space"]["value"], 10);
  EXPECT_EQ(all["tree"]["nodes"][0]["cumulative"]["inuse_space"]["value"], 110);
}

TEST(ReportJson, CallersAndCallees) {
  Builder b;
  b.stack({b.at("f"), b.at("main")}, 100, 1);
  ReportOptions options;
  options.callers = "f";
  options.callees = "ma";
  const auto json = ordered_json::parse(report_json(build_report(b.profile(), options)));
  EXPECT_EQ(keys(json["callers"]), "function matched self cumulative recursive rows ");
  EXPECT_EQ(json["callees"]["function"], "ma");
  EXPECT_EQ(json["callees"]["matched"], ordered_json::array({"main"}));
  EXPECT_EQ(keys(json["callees"]["rows"][0]), "name file line module values ");
  EXPECT_EQ(json["callees"]["rows"][0]["name"], "f");
  EXPECT_EQ(json["callees"]["rows"][0]["values"]["inuse_space"]["value"], 100);
  EXPECT_EQ(json["callers"]["self"]["inuse_space"]["value"], 100);
  options.has_tree = true;
  const auto trees = ordered_json::parse(report_json(build_report(b.profile(), options)));
  EXPECT_FALSE(trees.contains("tree"));
  EXPECT_EQ(trees["callers"]["tree"]["nodes"][0]["frames"][1]["name"], "main");
}

TEST(ReportJson, AProfileWithoutSamplesHasNoRows) {
  Builder b;
  const ordered_json json = json_of(b);
  EXPECT_TRUE(json["rows"].is_array());
  EXPECT_TRUE(json["rows"].empty());
  EXPECT_EQ(json["totals"]["inuse_space"]["value"], 0);
}

TEST(ReportJson, NamedHeapsLargestFirst) {
  report_fixture::Builder b;
  const uint32_t main = b.at("main");
  b.stack({main}, 10, 1, 1).stack({main}, 20, 1, 1).stack({main}, 40, 1, 1).stack({main}, 5, 1, 1);
  b.profile().stacks[0].heap = "pool:a";
  b.profile().stacks[1].heap = "pool:b";
  b.profile().stacks[2].heap = "pool:a";
  const nlohmann::json json = json_from_text(report_json(build_report(b.profile())));
  ASSERT_EQ(json["heaps"].size(), 2u);
  EXPECT_EQ(json["heaps"][0]["name"], "pool:a");
  EXPECT_EQ(json["heaps"][0]["values"]["inuse_space"]["value"], 50);
  EXPECT_EQ(json["heaps"][1]["name"], "pool:b");
  ReportOptions by_heap;
  by_heap.by = GroupBy::kHeap;
  const nlohmann::json rows = json_from_text(report_json(build_report(b.profile(), by_heap)))["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["name"], "pool:a");
  EXPECT_EQ(rows[0]["cumulative"]["inuse_space"]["value"], 50);
  EXPECT_EQ(rows[2]["name"], "[default]");
  EXPECT_EQ(rows[2]["self"]["inuse_objects"]["value"], 1);
}

TEST(ReportJson, WhatTheTimeDidNotReachIsNull) {
  Builder b(1000);
  b.stack({b.at("f(int)", "/src/f.cc", 3)}, 100, 5);
  Profile profile = b.profile();
  profile.resident.total_bytes = 100;
  profile.resident.files_bytes = 20;
  profile.resident.state = kResidentCut | kResidentHeapCut;
  ordered_json json = ordered_json::parse(report_json(build_report(profile)))["resident"];
  EXPECT_EQ(100, json["rss_bytes"]);
  EXPECT_EQ(20, json["files_bytes"]);
  EXPECT_FALSE(json["complete"]);
  for (const char* key : {"heap_bytes", "memprof_bytes", "slack_bytes", "fragmentation", "unexplained_bytes"})
    EXPECT_TRUE(json[key].is_null()) << key;
  profile.resident.state = 0;
  json = ordered_json::parse(report_json(build_report(profile)))["resident"];
  EXPECT_EQ(0, json["heap_bytes"]);
  EXPECT_EQ(80, json["unexplained_bytes"]);
}

TEST(ReportJson, NoHeapsWhereNoneIsNamed) {
  report_fixture::Builder b;
  b.stack({b.at("main")}, 10, 1, 1);
  EXPECT_FALSE(json_from_text(report_json(build_report(b.profile()))).contains("heaps"));
}

}  // namespace
}  // namespace memprof::profile
