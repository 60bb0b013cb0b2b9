// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/small_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;

constexpr double kMiB = 1024 * 1024;

ProcessProfile process(const std::string& program, double peak_mib, double allocated_mib = 0) {
  ProcessProfile p;
  p.program = program;
  p.samples = 1;
  p.peak_bytes = peak_mib * kMiB;
  p.allocated_bytes = (allocated_mib != 0 ? allocated_mib : peak_mib) * kMiB;
  return p;
}

std::vector<std::string> kept(std::vector<ProcessProfile> processes) {
  take_small_processes(&processes, 7);
  std::vector<std::string> programs;
  for (const ProcessProfile& p : processes) programs.push_back(p.program);
  return programs;
}

TEST(SmallProcesses, ThoseOfAWrapperAreCountedAndSummed) {
  std::vector<ProcessProfile> processes = {process("bash", 0.5, 1), process("python", 100),
                                           process("env", 0.5, 0.5)};
  const SmallProcesses small = take_small_processes(&processes, 7);
  EXPECT_EQ(small.count, 2u);
  EXPECT_EQ(small.allocated_bytes, 1.5 * kMiB);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].program, "python");
}

TEST(SmallProcesses, SmallIsByItselfAndBesideTheLargest) {
  EXPECT_THAT(kept({process("bash", 2), process("python", 100)}), ElementsAre("python"));
  EXPECT_THAT(kept({process("bash", 2.1), process("python", 100)}), ElementsAre("bash", "python"));
  EXPECT_THAT(kept({process("bash", 1), process("python", 4)}), ElementsAre("python"));
  EXPECT_THAT(kept({process("bash", 1.1), process("python", 4)}), ElementsAre("bash", "python"));
  EXPECT_THAT(kept({process("bash", 1, 8), process("python", 100)}), ElementsAre("python"));
  EXPECT_THAT(kept({process("bash", 1, 8.1), process("python", 100)}), ElementsAre("bash", "python"));
  EXPECT_THAT(kept({process("bash", 1, 8), process("python", 10, 20)}), ElementsAre("bash", "python"));
}

TEST(SmallProcesses, OneAloneAndManyAlikeStay) {
  EXPECT_THAT(kept({process("bash", 0.1)}), ElementsAre("bash"));
  EXPECT_THAT(kept({process("a", 0.1), process("b", 0.1)}), ElementsAre("a", "b"));
  EXPECT_THAT(kept({process("a", 0), process("b", 0)}), ElementsAre("a", "b"));
  EXPECT_THAT(kept({}), ElementsAre());
}

TEST(SmallProcesses, WorkersOfOneProgramStay) {
  EXPECT_THAT(kept({process("nginx", 0.3), process("nginx", 50), process("sh", 0.3)}),
              ElementsAre("nginx", "nginx"));
}

TEST(SmallProcesses, WhatIsNotOrdinaryStays) {
  const auto is_kept = [](const std::function<void(ProcessProfile*)>& change) {
    ProcessProfile small = process("bash", 0.1);
    change(&small);
    return kept({small, process("python", 100)}).size() == 2;
  };
  EXPECT_FALSE(is_kept([](ProcessProfile*) {}));
  EXPECT_FALSE(is_kept([](ProcessProfile* p) { p->has_ended = false; }))
      << "it may have executed another program";
  EXPECT_FALSE(is_kept([](ProcessProfile* p) { p->pid = 7; }));
  EXPECT_TRUE(is_kept([](ProcessProfile* p) {
    p->pid = 7;
    p->has_ended = false;
  })) << "the started process was killed";
  EXPECT_TRUE(is_kept([](ProcessProfile* p) { p->still_runs = true; }));
  EXPECT_TRUE(is_kept([](ProcessProfile* p) { p->has_mappings = true; }));
  EXPECT_TRUE(is_kept([](ProcessProfile* p) { p->dropped_samples = 1; }));
  EXPECT_TRUE(is_kept([](ProcessProfile* p) { p->bypassing_libraries = 1; }));
  EXPECT_FALSE(
      is_kept([](ProcessProfile* p) { p->own_max_resident_bytes = SmallProcesses::kMaxResidentBytes; }));
  EXPECT_TRUE(is_kept([](ProcessProfile* p) {
    p->own_max_resident_bytes = SmallProcesses::kMaxResidentBytes + 1;
  })) << "a heap that is no malloc";
}

TEST(SmallProcesses, OneWithoutASampleIsNotCounted) {
  ProcessProfile without = process("bash", 0);
  without.samples = 0;
  std::vector<ProcessProfile> processes = {without, process("python", 100)};
  EXPECT_EQ(take_small_processes(&processes, 7).count, 0u);
  EXPECT_EQ(processes.size(), 2u);
}

}  // namespace
}  // namespace memprof::cli
