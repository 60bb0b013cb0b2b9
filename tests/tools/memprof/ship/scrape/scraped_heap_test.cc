// SPDX-License-Identifier: Apache-2.0
// What is in a profile: tests/e2e/ship_listen_test.py.
#include "memprof/ship/scrape/scraped_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// Processes that are there and cannot be read: `programs` has the name of each.
class ScrapedHeap : public testing::Test {
 protected:
  ShippedProcesses processes(const std::vector<std::string>& programs, const LabelRules& rules = {}) const {
    std::vector<RunningProcess> all;
    for (const std::string& program : programs) {
      RunningProcess process;
      process.pid = static_cast<uint64_t>(getpid());
      process.program = program;
      process.arena = folder / (std::to_string(all.size()) + ".arena");
      testing_tools::write_file(process.arena, "no arena");
      all.push_back(process);
    }
    return {rules, all};
  }

  // "STATUS text"
  static std::string refusal(ShippedProcesses& all, const std::string& target) {
    try {
      scraped_heap(all, parse_scrape_query(target), profile::Metric::kInuseSpace);
    } catch (const ScrapeRefusal& refused) {
      return std::to_string(refused.status()) + " " + refused.what();
    }
    return "";
  }

  testing_tools::Folder folder;
  const std::string pid = std::to_string(getpid());
};

TEST_F(ScrapedHeap, OneOfSeveralIsToBeChosen) {
  ShippedProcesses all = processes({"a b", "c", "c"});
  const std::string text = refusal(all, "/debug/pprof/heap");
  EXPECT_THAT(text, HasSubstr("400 there are 3 processes; ask for one of:\n"));
  EXPECT_THAT(text, HasSubstr("\n  ?service=a%20b  1 process\n"));
  EXPECT_THAT(text, HasSubstr("\n  ?service=c  2 processes\n"));
  EXPECT_THAT(text, HasSubstr("\n  ?pid=" + pid + "  c (c)"));
  EXPECT_THAT(refusal(all, "/?debug=0"), HasSubstr("400 there are 3 processes"));
}

TEST_F(ScrapedHeap, AChosenOneIsRead) {
  ShippedProcesses all = processes({"a", "c", "c"});
  ShippedProcesses one = processes({"a"});
  const std::string read = "503 process " + pid + " cannot be read: ";
  for (const char* target :
       {"/?service=a", "/?service_name=c", "/?program=a&service=a", "/?service=a&seconds=0"}) {
    EXPECT_THAT(refusal(all, target), HasSubstr(read)) << target;
  }
  EXPECT_THAT(refusal(one, "/"), HasSubstr(read)) << "with one process no choice is wanted";
  EXPECT_THAT(refusal(one, "/?pid=" + pid), HasSubstr(read));
}

TEST_F(ScrapedHeap, WhatIsNotThereIsSaid) {
  ShippedProcesses all = processes({"a", "c"});
  for (const char* target : {"/?pid=1", "/?service=x", "/?service=a&program=c", "/?service="}) {
    EXPECT_THAT(refusal(all, target), HasSubstr("404 no process is like that; ask for one of:\n")) << target;
  }
  std::filesystem::remove(folder / "0.arena");
  EXPECT_THAT(refusal(all, "/?service=a"), HasSubstr("404 no process is like that")) << "it has ended";
  std::filesystem::remove(folder / "1.arena");
  EXPECT_THAT(refusal(all, "/"), HasSubstr("404 no process that has memprof in it"));
}

TEST_F(ScrapedHeap, ParametersThatWouldMeanSomethingElseAreRefused) {
  ShippedProcesses all = processes({"a"});
  for (const char* name : {"seconds", "debug", "gc"}) {
    EXPECT_THAT(refusal(all, std::string("/?") + name + "=1"), HasSubstr(std::string("400 ") + name + ": "))
        << name;
  }
  EXPECT_THAT(
      refusal(all, "/?proces=1"),
      HasSubstr("400 there is no parameter proces; there are: labels, pid, program, service, service_name"));
}

TEST_F(ScrapedHeap, TheListOfChoicesHasAnEnd) {
  ShippedProcesses all = processes(std::vector<std::string>(150, "a"));
  EXPECT_THAT(refusal(all, "/"), HasSubstr("\n  and 51 more"));
}

TEST_F(ScrapedHeap, TargetsAreSetsOfLabels) {
  LabelRules rules;
  rules.fixed = {{"host", "h"}};
  ShippedProcesses all = processes({"a", "c", "c"}, rules);
  const Json list = Json::parse(scrape_targets(all, "h:1"));
  ASSERT_EQ(list.size(), 2U);
  std::set<std::string> services;
  for (const Json& one : list) {
    EXPECT_EQ(one.at("targets"), Json({"h:1"}));
    const Json& labels = one.at("labels");
    EXPECT_EQ(labels.at("host"), "h");
    EXPECT_EQ(labels.at("__metrics_path__"), "/debug/pprof/heap");
    EXPECT_EQ(labels.at("__param_service"), labels.at("service_name"));
    EXPECT_EQ(labels.size(), 5U) << labels;
    services.insert(labels.at("service_name"));
  }
  EXPECT_EQ(services, (std::set<std::string>{"a", "c"}));
  ShippedProcesses none = processes({"a"});
  std::filesystem::remove(folder / "0.arena");
  EXPECT_EQ(Json::parse(scrape_targets(none, "h:1")), Json::array());
}

TEST_F(ScrapedHeap, TargetsOfOneServiceAreToldApart) {
  LabelRules rules;
  rules.fixed = {{"service_name", "s"}};
  ShippedProcesses all = processes({"a", "b"}, rules);
  for (const Json& one : Json::parse(scrape_targets(all, "h:1"))) {
    const Json& labels = one.at("labels");
    EXPECT_EQ(labels.at("__param_program"), labels.at("program"));
    EXPECT_FALSE(labels.contains("__param_labels"));
  }
}

TEST_F(ScrapedHeap, WhereALabelIsMissingAllOfThemChoose) {
  LabelRules rules;
  rules.fixed = {{"service_name", "s"}};
  ShippedProcesses all = processes({"a", "b"}, rules);
  all.all().begin()->second.labels.emplace("zone", "z");
  size_t hashes = 0;
  for (const Json& one : Json::parse(scrape_targets(all, "h:1"))) {
    const Json& labels = one.at("labels");
    if (labels.contains("zone")) {
      EXPECT_EQ(labels.at("__param_zone"), "z");
      continue;
    }
    ++hashes;
    const std::string hash = labels.at("__param_labels");
    EXPECT_FALSE(labels.contains("__param_service"));
    EXPECT_THAT(refusal(all, "/?labels=" + hash), HasSubstr("503 "));
    EXPECT_THAT(refusal(all, "/?zone=z&labels=" + hash), HasSubstr("404 ")) << "only the other one has it";
  }
  EXPECT_EQ(hashes, 1U);
}

}  // namespace
}  // namespace memprof::cli
