// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/speedscope.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "profile/model/metric.h"
#include "profile/text/markup/json_text.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using SpeedscopeJson = nlohmann::json;

// The rules of https://www.speedscope.app/file-format-schema.json for what we write, and those that the
// viewer's importer adds.
void check_schema(const SpeedscopeJson& file) {
  ASSERT_TRUE(file.is_object());
  EXPECT_EQ(file.at("$schema"), "https://www.speedscope.app/file-format-schema.json");
  const std::set<std::string> allowed = {"$schema", "shared", "profiles", "name", "activeProfileIndex",
                                         "exporter"};
  for (const auto& item : file.items()) {
    EXPECT_TRUE(allowed.count(item.key())) << item.key();
  }
  EXPECT_TRUE(file.at("name").is_string());
  EXPECT_TRUE(file.at("exporter").is_string());
  const SpeedscopeJson& frames = file.at("shared").at("frames");
  ASSERT_TRUE(frames.is_array());
  std::set<std::pair<std::string, std::string>> identities;
  for (const SpeedscopeJson& frame : frames) {
    ASSERT_TRUE(frame.at("name").is_string());
    for (const auto& item : frame.items()) {
      EXPECT_TRUE(item.key() == "name" || item.key() == "file" || item.key() == "line") << item.key();
    }
    EXPECT_TRUE(identities.emplace(frame.at("name"), frame.value("file", "")).second) << frame;
  }
  const SpeedscopeJson& profiles = file.at("profiles");
  ASSERT_FALSE(profiles.empty());
  ASSERT_LT(file.at("activeProfileIndex").get<size_t>(), profiles.size());
  for (const SpeedscopeJson& profile : profiles) {
    EXPECT_EQ(profile.at("type"), "sampled");
    EXPECT_TRUE(profile.at("name").is_string());
    EXPECT_TRUE(profile.at("unit") == "bytes" || profile.at("unit") == "none");
    EXPECT_EQ(profile.at("startValue"), 0);
    const SpeedscopeJson& samples = profile.at("samples");
    const SpeedscopeJson& weights = profile.at("weights");
    ASSERT_EQ(samples.size(), weights.size());
    int64_t sum = 0;
    std::vector<std::vector<size_t>> stacks;
    for (size_t i = 0; i < samples.size(); ++i) {
      ASSERT_TRUE(weights[i].is_number_integer());
      EXPECT_GT(weights[i].get<int64_t>(), 0);
      sum += weights[i].get<int64_t>();
      stacks.push_back(samples[i].get<std::vector<size_t>>());
      EXPECT_FALSE(stacks.back().empty());
      for (const size_t frame : stacks.back()) {
        EXPECT_LT(frame, frames.size());
      }
    }
    EXPECT_EQ(profile.at("endValue").get<int64_t>(), sum);
    EXPECT_TRUE(std::is_sorted(stacks.begin(), stacks.end()));
    EXPECT_EQ(std::adjacent_find(stacks.begin(), stacks.end()), stacks.end());
  }
}

TEST(Speedscope, follows_the_schema) {
  check_schema(json_from_text(write_speedscope(named_profile(), {"server", {}, {}})));
}

TEST(Speedscope, live_bytes_first_and_inlined_functions_as_frames) {
  const SpeedscopeJson file = json_from_text(write_speedscope(named_profile(), {"server 42", {}, {}}));
  EXPECT_EQ(file.at("name"), "server 42");
  EXPECT_EQ(file.at("activeProfileIndex"), 0);
  ASSERT_EQ(file.at("profiles").size(),
            6u);  // peak, live, allocated: this program's mappings were not recorded
  const SpeedscopeJson& live = file.at("profiles")[0];
  EXPECT_EQ(live.at("name").get<std::string>().substr(0, 11), "inuse_space");
  EXPECT_EQ(live.at("unit"), "bytes");
  EXPECT_EQ(file.at("profiles")[1].at("unit"), "none");
  ASSERT_EQ(live.at("samples").size(), 2u);
  std::vector<std::string> names;
  for (const size_t frame : live.at("samples")[1].get<std::vector<size_t>>()) {
    names.push_back(file.at("shared").at("frames")[frame].at("name"));
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"libc.so.6+0x1000", "main", "ns::make<int; char>(int)", "inner"}));
  EXPECT_EQ(live.at("weights")[1], 4200616);
}

TEST(Speedscope, frames_have_lines) {
  const SpeedscopeJson file = json_from_text(write_speedscope(named_profile(), {"x", {}, {}}));
  for (const SpeedscopeJson& frame : file.at("shared").at("frames")) {
    if (frame.at("name") == "main") {
      EXPECT_EQ(frame.at("line"), 12);
    }
    if (frame.at("name") == "inner") {
      EXPECT_EQ(frame.at("line"), 7);
    }
    if (frame.at("name") == "0x12345") {
      EXPECT_FALSE(frame.contains("line"));
    }
  }
}

TEST(Speedscope, opens_on_the_metric_that_was_asked_for) {
  const SpeedscopeJson file =
      json_from_text(write_speedscope(named_profile(), {"x", Metric::kAllocObjects, {}}));
  check_schema(file);
  EXPECT_EQ(file.at("profiles")[0].at("name").get<std::string>().substr(0, 13), "alloc_objects");
}

TEST(Speedscope, has_what_few_ask_for_where_it_is_asked_for) {
  Profile profile = named_profile();
  for (const Metric metric :
       {Metric::kMappedObjects, Metric::kMappedResidentObjects, Metric::kResidentObjects}) {
    profile.has_metric[metric_index(metric)] = true;
    profile.stacks[0].values[metric_index(metric)] = 3;
  }
  const size_t views = json_from_text(write_speedscope(profile, {"x", {}, {}})).at("profiles").size();
  for (const Metric metric :
       {Metric::kMappedObjects, Metric::kMappedResidentObjects, Metric::kResidentObjects}) {
    const SpeedscopeJson file = json_from_text(write_speedscope(profile, {"x", metric, {}}));
    check_schema(file);
    ASSERT_EQ(views + 1, file.at("profiles").size());
    const auto name = file.at("profiles")[0].at("name").get<std::string>();
    EXPECT_EQ(metric_name(metric), name.substr(0, name.find(' ')));
    EXPECT_EQ(3, file.at("profiles")[0].at("endValue"));
  }
}

TEST(Speedscope, survives_names_that_are_not_text) {
  Profile profile = named_profile();
  profile.functions[0].name = "a\"b\\c\n\xff\x01";
  const SpeedscopeJson file = json_from_text(write_speedscope(profile, {"\xfe\"quoted\"", {}, {}}));
  check_schema(file);
  EXPECT_EQ(file.at("name"), "\xef\xbf\xbd\"quoted\"");
}

TEST(Speedscope, a_difference_is_what_is_more_and_what_is_less) {
  Profile profile = named_profile();
  profile.has_metric = {false, false, false, true};
  profile.stacks[0] = Stack();
  profile.stacks[0].locations = {1};
  profile.stacks[0].values = {-5, -5000, -5, -5000};
  const SpeedscopeJson file = json_from_text(write_speedscope(profile, {"x", {}, {}}));
  check_schema(file);
  ASSERT_EQ(file.at("profiles").size(), 2u);
  const SpeedscopeJson& more = file.at("profiles")[0];
  const SpeedscopeJson& less = file.at("profiles")[1];
  EXPECT_EQ(more.at("name"), "inuse_space (live bytes): more");
  EXPECT_EQ(less.at("name"), "inuse_space (live bytes): less");
  EXPECT_EQ(less.at("endValue"), 5000);
  EXPECT_EQ(less.at("weights").size(), 1u);
  EXPECT_EQ(more.at("weights").size(), 1u);
}

TEST(Speedscope, has_the_metrics_of_the_profile_only) {
  Profile profile = named_profile();
  profile.has_metric = {false, false, true, true};
  EXPECT_EQ(json_from_text(write_speedscope(profile, {"x", {}, {}})).at("profiles").size(), 2u);
}

TEST(Speedscope, an_empty_profile_is_valid) {
  Profile profile;
  profile.has_metric = {true, true, true, true};
  check_schema(json_from_text(write_speedscope(profile, {"true", {}, {}})));
}

}  // namespace
}  // namespace memprof::profile
