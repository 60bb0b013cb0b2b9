// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/json_export.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "profile/model/metric.h"
#include "profile/text/markup/json_text.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using ExportJson = nlohmann::json;

TEST(JsonExport, has_what_the_document_says) {
  const ExportJson json = json_from_text(write_json(named_profile()));
  EXPECT_EQ(json.at("format"), "memprof-profile");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("program"), "server");
  EXPECT_EQ(json.at("pid"), 42);
  EXPECT_EQ(json.at("rate_bytes"), kTestRate);
  EXPECT_EQ(json.at("time_unix_ns"), 1700000000000000000);
  EXPECT_EQ(json.at("duration_ns"), 1000000);
  EXPECT_EQ(json.at("samples"), 12);
  EXPECT_EQ(json.at("live_samples"), 9);
  EXPECT_EQ(json.at("dropped_samples"), 0);
  EXPECT_EQ(json.at("walks"), ExportJson({{"root", 11},
                                          {"depth_limit", 1},
                                          {"bad_frame", 0},
                                          {"left_stack", 0},
                                          {"no_rule", 0},
                                          {"middle_left_out", 0}}));
  EXPECT_EQ(json.at("mappings")[0].at("build_id"), "abcdef01");
  EXPECT_EQ(json.at("mappings")[0].at("start"), "0x400000");
  EXPECT_EQ(json.at("locations")[0].at("frames")[0],
            ExportJson({{"name", "inner"}, {"file", "/src/make.h"}, {"line", 7}}));
  EXPECT_EQ(json.at("locations")[3].at("mapping"), nullptr);
  const ExportJson& stack = json.at("stacks")[0];
  EXPECT_EQ(stack.at("locations"), ExportJson({0, 1, 2}));
  EXPECT_EQ(stack.at("walk"), "root");
  EXPECT_EQ(stack.at("allocated_samples"), 9);
  EXPECT_EQ(stack.at("freed_samples"), 1);
  EXPECT_NEAR(stack.at("mean_lifetime_ns").get<double>(), 5e6 * sampling_probability(64, kTestRate), 1e-6);
  ASSERT_EQ(stack.at("lifetimes").size(), 1u);
  EXPECT_EQ(stack.at("lifetimes")[0].at("from_ns"), 1000000);
  EXPECT_EQ(stack.at("lifetimes")[0].at("samples"), stack.at("freed_samples"));
  EXPECT_EQ(stack.at("births")[1],
            ExportJson({{"part", 15}, {"samples", 3}, {"bytes", 1.5e6}, {"blocks", 375.0}}));
  EXPECT_EQ(stack.at("live")[1],
            ExportJson({{"size_bytes", 4096}, {"rate_bytes", kTestRate}, {"samples", 3}}));
}

// Stable, with their order: docs/profile-json.md.
TEST(JsonExport, facts_stand_where_they_always_stood) {
  Profile profile = named_profile();
  uint64_t value = 1000;
  for (const ProfileFact& fact : kProfileFacts) fact.set(&profile, ++value);
  profile.is_before_end = false;
  const std::string json = write_json(profile);
  const size_t from = json.find("\"samples\"");
  EXPECT_EQ(
      json.substr(from, json.find("\"walks\"") - from),
      "\"samples\":1001,\"live_samples\":1002,\"dropped_samples\":1003,\"dropped_weight_bytes\":1004,"
      "\"replaced_samples\":1005,\n"
      "\"peak_after_ns\":1006,\"peak_resident_bytes\":1007,\"max_resident_bytes\":1008,\"peak_files_bytes\":1009,"
      "\"peak_free_bytes\":1010,\"peak_resident_is_before\":true,\"memory_limit_bytes\":1045,"
      "\"memory_pressure_percent\":1046,\"memory_used_bytes\":1047,\"memory_stall_some_ppm\":1049,"
      "\"memory_stall_full_ppm\":1050,\"ended\":true,"
      "\"live_is_before_end\":false,\"oom_killed\":true,\"memory_stalled\":true,"
      "\"memory_stall_is_of_machine\":true,\n"
      "\"folded_stacks\":1015,\"thinned_samples\":1016,\"folded_modules\":1022,"
      "\"folded_functions\":1023,\"folded_heaps\":1024,\"dropped_mappings\":1028,\"budget_ppm\":1019,"
      "\"cpu_ns\":1020,"
      "\"sampling_ns\":1021,\"muted_bytes\":1014,\"unseen_processes\":1017,"
      "\"uncollected_processes\":1018,\"unsampled_processes\":1037,\"bypassing_libraries\":1040,"
      "\"small_processes\":1041,\"small_allocated_bytes\":1042,\n"
      "\"import_refused\":1025,\"import_foreign\":1026,\"import_unbound\":1027,\"import_taken\":1038,"
      "\"import_unseen_ns\":1039,\n");
}

TEST(JsonExport, rates_are_there_where_there_was_more_than_one) {
  Profile profile = named_profile();
  EXPECT_EQ(json_from_text(write_json(profile)).count("rates"), 0u);
  profile.rates = {{4096, 100, 7}, {8192, 50, 3}};
  const ExportJson json = json_from_text(write_json(profile));
  EXPECT_EQ(json.at("rates"), json_from_text(R"([{"rate_bytes":4096,"weight_bytes":100,"time_ns":7},
                                                    {"rate_bytes":8192,"weight_bytes":50,"time_ns":3}])"));
}

TEST(JsonExport, totals_are_the_sum_and_intervals_hold_the_value) {
  const Profile profile = named_profile();
  const ExportJson json = json_from_text(write_json(profile));
  for (const Metric metric : kMetrics) {
    if (!profile.has_metric[metric_index(metric)]) {
      EXPECT_FALSE(json.at("totals").contains(metric_name(metric)));
      continue;
    }
    double sum = 0;
    for (const ExportJson& stack : json.at("stacks")) {
      const ExportJson& estimate = stack.at("metrics").at(metric_name(metric));
      EXPECT_LE(estimate.at("low").get<double>(), estimate.at("value").get<double>());
      EXPECT_GE(estimate.at("high").get<double>(), estimate.at("value").get<double>());
      sum += estimate.at("value").get<double>();
    }
    EXPECT_NEAR(json.at("totals").at(metric_name(metric)).at("value").get<double>(), sum, 1e-9 * sum);
  }
}

TEST(JsonExport, without_statistics_there_is_no_interval) {
  Profile profile = named_profile();
  profile.has_metric = {false, false, true, true};
  profile.stacks[1] = Stack();
  profile.stacks[1].values = {0, 0, 3, 300};
  const ExportJson json = json_from_text(write_json(profile));
  EXPECT_EQ(json.at("stacks")[1].at("metrics"),
            ExportJson({{"inuse_objects", {{"value", 3.0}, {"low", nullptr}, {"high", nullptr}}},
                        {"inuse_space", {{"value", 300.0}, {"low", nullptr}, {"high", nullptr}}}}));
  EXPECT_FALSE(json.at("stacks")[1].contains("walk"));
  // A total knows its own where such a stack is a hundredth of it at most.
  EXPECT_NE(json.at("totals").at("inuse_space").at("low"), nullptr);
  profile.stacks[1].values = {0, 0, 30000, 30e6};
  EXPECT_EQ(json_from_text(write_json(profile)).at("totals").at("inuse_space").at("low"), nullptr);
}

TEST(JsonExport, survives_names_that_are_not_text) {
  Profile profile = named_profile();
  profile.program = "\xff\"";
  EXPECT_EQ(json_from_text(write_json(profile)).at("program"), "\xef\xbf\xbd\"");
}

}  // namespace
}  // namespace memprof::profile
