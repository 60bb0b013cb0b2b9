// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/attach_command.h"

#include <gtest/gtest.h>

#include "../attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::fixture;
using testing_tools::memprof;
using testing_tools::Result;
using testing_tools::TargetProcess;

void expect_wrong(const std::vector<std::string>& arguments, int status, const std::string& part) {
  std::vector<std::string> all = arguments;
  all.insert(all.begin(), "attach");
  // Any library will do: builds with sanitizers have none.
  const Result result = memprof(all, {{"MEMPROF_LIBRARY", fixture("stand_in.so")}});
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(AttachCommand, WrongUse) {
  expect_wrong({}, 2, "give one process");
  expect_wrong({"1", "--name", "x"}, 2, "give one process");
  expect_wrong({"x1"}, 2, "'x1' is not a process id");
  expect_wrong({"1", "--for", "5s"}, 2, "--for and -o belong together");
  expect_wrong({"1", "-o", "x.pb"}, 2, "--for and -o belong together");
  expect_wrong({"1", "--for", "soon", "-o", "x.pb"}, 2, "--for: 'soon' is not a time");
  expect_wrong({"1", "--for", "1x", "-o", "x.pb"}, 2, "is not a time");
  expect_wrong({"1", "--for", "1s", "-o", "x.json"}, 2, "x.json");
  expect_wrong({"1", "--budget", "lots"}, 2, "--budget: 'lots' is not a share of the CPU time");
  expect_wrong({"1", "--budget", "51%"}, 2, "at most 50%");
  expect_wrong({"1", "--stop", "--budget", "1%"}, 2, "--stop takes no other options");
  expect_wrong({"1", "--stop", "--mmap"}, 2, "--stop takes no other options");
  expect_wrong({"1", "--raw"}, 2, "--raw needs");
  expect_wrong({"1", "--stop", "-r", "1M"}, 2, "--stop takes no other options");
  expect_wrong({"1", "-r", "much"}, 2, "-r: 'much' is not a rate");
  expect_wrong({"1", "--no-python", "--native-interpreter"}, 2, "exclude each other");
  expect_wrong({"--name", "no-program-has-this-name"}, 2, "there is no such process");
  EXPECT_EQ(memprof({"attach", "--help"}).status, 0);
}

TEST(AttachCommand, Refused) {
  expect_wrong({"4000000000"}, 1, "process 4000000000 does not exist");
  expect_wrong({"4000000000", "--stop"}, 1, "process 4000000000 does not exist");
}

TEST(AttachCommand, StartsAndStops) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  const std::string id = std::to_string(process.pid());
  const testing_tools::Environment environment = {{"MEMPROF_LIBRARY", fixture("stand_in.so")}};
  Result result = memprof({"attach", id}, environment);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("attached to " + id + " (attached), which paused for "), std::string::npos)
      << result.err;
  EXPECT_NE(result.err.find("next: memprof live " + id), std::string::npos) << result.err;
  result = memprof({"attach", "--stop", id}, environment);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("stopped in " + id), std::string::npos) << result.err;
  EXPECT_EQ(process.finish(), "ok");
}

}  // namespace
}  // namespace memprof::cli
