// SPDX-License-Identifier: Apache-2.0
// Real processes: tests/e2e/ship_test.py.
#include "memprof/ship/looks/shipped_process.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

RunningProcess process_called(const std::string& program) {
  RunningProcess process;
  process.pid = 42;
  process.program = program;
  return process;
}

TEST(ShippedProcess, LabelsComeFromTheUserThenTheProcess) {
  LabelRules rules;
  rules.fixed = {{"host", "a"}};
  EXPECT_EQ(label_text(*labels_of(process_called("web"), {}, rules)),
            "host=\"a\" program=\"web\" service_name=\"web\"");
  EXPECT_EQ(labels_of(process_called("web"), {{"OTEL_SERVICE_NAME", "shop"}}, rules)->at("service_name"),
            "shop");
  EXPECT_EQ(labels_of(process_called("web"), {{"POD_NAME", "p-1"}}, rules)->at("k8s_pod_name"), "p-1");
  EXPECT_EQ(labels_of(process_called(""), {}, rules)->at("service_name"), "unknown");
  rules.from_environment = {{"version", "APP_VERSION"}, {"service_name", "NAME"}};
  rules.has_pid = true;
  const Labels labels = *labels_of(process_called("web"), {{"APP_VERSION", "1.2"}, {"NAME", "x"}}, rules);
  EXPECT_EQ(labels.at("version"), "1.2");
  EXPECT_EQ(labels.at("service_name"), "x");
  EXPECT_EQ(labels.at("pid"), "42");
  rules.fixed["service_name"] = "given";
  EXPECT_EQ(labels_of(process_called("web"), {{"NAME", "x"}}, rules)->at("service_name"), "given");
}

TEST(ShippedProcess, LabelsAreFew) {
  LabelRules rules;
  std::map<std::string, std::string> environment;
  for (int i = 0; i < 40; ++i) {
    rules.from_environment["l" + std::to_string(i)] = "V" + std::to_string(i);
    environment["V" + std::to_string(i)] = std::string(1000, 'x');
  }
  const Labels labels = *labels_of(process_called("web"), environment, rules);
  EXPECT_EQ(labels.size(), kMaxLabels);
  EXPECT_EQ(labels.begin()->second.size(), kMaxLabelValueBytes);
}

TEST(ShippedProcess, WhatIsNoArenaOfARunningProcessIsLeftOut) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "memprof-1-2-3.arena", "no arena");
  setenv("MEMPROF_ARENA_DIR", folder.path().c_str(), 1);
  ShippedProcesses processes({}, {});
  processes.find();
  unsetenv("MEMPROF_ARENA_DIR");
  EXPECT_TRUE(processes.all().empty());
  EXPECT_FALSE(processes.is_over()) << "others may come";
}

TEST(ShippedProcess, HasEndedWhenItExecutesAnotherProgram) {
  const testing_tools::Folder folder;
  RunningProcess process = process_called("sh");
  process.pid = static_cast<uint64_t>(getpid());
  process.arena = folder / "memprof-1-2-3.arena";
  testing_tools::write_file(process.arena, "the shell's");
  ShippedProcesses processes({}, {process});
  ASSERT_EQ(processes.all().size(), 1u);
  EXPECT_FALSE(processes.all().begin()->second.has_ended());
  EXPECT_EQ(processes.pids(), std::set<uint64_t>{process.pid});
  unlink(process.arena.c_str());
  testing_tools::write_file(process.arena, "its next program's");
  EXPECT_TRUE(processes.all().begin()->second.has_ended());
}

}  // namespace
}  // namespace memprof::cli
