// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/programs/command_line.h"

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ProcessProfile process(uint64_t pid, uint64_t samples, double live_bytes, const std::string& program = "cc") {
  ProcessProfile p;
  p.path = "raw-" + std::to_string(pid);
  p.program = program;
  p.pid = pid;
  p.samples = samples;
  p.live_bytes = live_bytes;
  return p;
}

std::string command_line(const std::string& name, const std::string& title, const std::string& argument) {
  return name + kCommandLineEnd + title + kCommandLineEnd + argument + kCommandLineEnd;
}

// Paths with the process ids that they are of, as "path=pid".
std::vector<std::string> choose(const std::vector<ProcessProfile>& processes, const std::string& pattern) {
  RunOptions options;
  options.output = pattern;
  RunFacts facts;
  facts.pid = 10;
  facts.program = "make";
  facts.time_seconds = 99;
  std::vector<std::string> chosen;
  for (const RunOutput& output : choose_outputs(processes, options, facts)) {
    chosen.push_back(output.path + "=" + std::to_string(output.process.pid));
  }
  return chosen;
}

TEST(ChooseOutputs, ThePathIsTheStartedProcesss) {
  EXPECT_THAT(choose({process(11, 5, 100), process(10, 1, 1), process(12, 5, 200)}, "out.pb.gz"),
              ElementsAre("out.pb.gz=10", "out.12.pb.gz=12", "out.11.pb.gz=11"));
  EXPECT_THAT(choose({process(11, 5, 100), process(10, 1, 1)}, "out.pb"),
              ElementsAre("out.pb=10", "out.11.pb=11"));
  EXPECT_THAT(choose({process(11, 5, 100), process(10, 1, 1)}, "out"), ElementsAre("out=10", "out.11=11"));
}

TEST(ChooseOutputs, APatternSaysAllNames) {
  EXPECT_THAT(choose({process(11, 5, 100), process(10, 1, 1, "sh")}, "%n.%p.%t.pb"),
              ElementsAre("make.10.99.pb=10", "cc.11.99.pb=11"));
  EXPECT_THAT(choose({process(11, 5, 100), process(10, 1, 1, "sh")}, "%%p.pb"),
              ElementsAre("%p.pb=10", "%p.11.pb=11"));
  EXPECT_THAT(choose({process(11, 5, 100, "a"), process(12, 5, 90, "a")}, "%n.pb"),
              ElementsAre("a.pb=11", "a.12.pb=12"));
}

TEST(ChooseOutputs, AWrapperWithoutASampleGivesItsPathToTheLargest) {
  EXPECT_THAT(
      choose({process(10, 0, 0), process(11, 5, 100), process(12, 5, 200), process(13, 0, 0)}, "x.pb"),
      ElementsAre("x.pb=12", "x.11.pb=11"));
}

TEST(ChooseOutputs, WhoTakesAWrappersPlaceHasTheNameThatItWasStartedBy) {
  ProcessProfile python = process(11, 5, 100, "python3.11");
  const auto first = [&python](const std::string& line) {
    python.command_line = line;
    return choose({python, process(12, 5, 50, "python3.11")}, "%n.pb");
  };
  EXPECT_THAT(first(command_line("python3.11", "/usr/bin/python3", "x.py")),
              ElementsAre("python3.pb=11", "python3.11.12.pb=12"));
  EXPECT_THAT(first(command_line("python3.11", "my server", "")),
              ElementsAre("python3.11.pb=11", "python3.11.12.pb=12"));
  EXPECT_THAT(first(""), ElementsAre("python3.11.pb=11", "python3.11.12.pb=12"));
}

TEST(ChooseOutputs, WithoutAnySampleTheStartedProcessHasAFile) {
  EXPECT_THAT(choose({process(11, 0, 0), process(10, 0, 0)}, "x.pb"), ElementsAre("x.pb=10"));
  EXPECT_THAT(choose({}, "x.pb"), IsEmpty());
}

// Programs as "NAME PID", those that are left behind a bar.
std::string last_programs(std::vector<ProcessProfile> processes,
                          const std::vector<UnseenProcess>& unseen = {}) {
  std::string text;
  const std::vector<ProcessProfile> former = take_former_programs(&processes, unseen);
  for (const ProcessProfile& p : former) text += p.program + " " + std::to_string(p.pid) + ", ";
  text += "| ";
  for (const ProcessProfile& p : processes) text += p.program + " " + std::to_string(p.pid) + ", ";
  return text;
}

ProcessProfile image(const std::string& program, uint64_t pid, uint64_t process_start, uint64_t start_ns,
                     uint64_t samples = 1) {
  ProcessProfile p = process(pid, samples, 100, program);
  p.process_start = process_start;
  p.start_ns = start_ns;
  p.has_ended = false;
  return p;
}

TEST(TakeFormerPrograms, TheLastProgramIsTheResultInWhateverOrderTheyAreRead) {
  EXPECT_EQ(last_programs({image("server", 7, 1, 300), image("setpriv", 7, 1, 100), image("sh", 7, 1, 200)}),
            "setpriv 7, sh 7, | server 7, ");
  EXPECT_EQ(last_programs({image("sh", 7, 1, 200), image("server", 7, 1, 300, 0)}), "sh 7, | server 7, ");
  EXPECT_EQ(last_programs({image("sh", 7, 1, 200, 0), image("server", 7, 1, 300)}), "| server 7, ");
}

TEST(TakeFormerPrograms, AnIdThatAnotherProcessHasIsNoImage) {
  EXPECT_EQ(last_programs({image("a", 7, 1, 100), image("b", 7, 2, 200)}), "| a 7, b 7, ");
  EXPECT_EQ(last_programs({image("a", 7, 0, 100), image("b", 7, 0, 200)}), "| a 7, b 7, ");
  ProcessProfile in_container = image("b", 7, 1, 200);
  in_container.pid_namespace = 5;
  EXPECT_EQ(last_programs({image("a", 7, 1, 100), in_container}), "| a 7, b 7, ");
}

TEST(TakeFormerPrograms, WhatAProcessWroteItselfIsItsLast) {
  EXPECT_EQ(last_programs({image("server", 7, 0, 0), image("sh", 7, 1, 100)}), "sh 7, | server 7, ");
}

TEST(TakeFormerPrograms, AProgramWithoutMemprofIsTheLast) {
  const UnseenProcess nginx{7, 1, 500, "nginx", "is static"};
  EXPECT_EQ(last_programs({image("env", 7, 1, 100), image("a", 8, 1, 100)}, {nginx}), "env 7, | a 8, ");
  ProcessProfile ended = image("env", 7, 1, 100);
  ended.has_ended = true;
  EXPECT_EQ(last_programs({ended}, {nginx}), "| env 7, ");
}

TEST(ChooseOutputs, TwoProcessesWithOneIdHaveTwoFiles) {
  EXPECT_THAT(choose({process(11, 7, 1000), process(11, 5, 10)}, "%p.pb"),
              ElementsAre("11.pb=11", "11.2.pb=11"));
}

}  // namespace
}  // namespace memprof::cli
