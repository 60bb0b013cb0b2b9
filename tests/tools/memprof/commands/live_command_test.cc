// SPDX-License-Identifier: Apache-2.0
// Arguments; processes are looked at in tests/e2e/live_test.py.
#include "memprof/commands/live_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    live_command(arguments);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), 2);
    return failure.what();
  }
  return "no error";
}

TEST(LiveCommand, WrongArgumentsAreSaid) {
  EXPECT_THAT(error_of({}), HasSubstr("give a process"));
  EXPECT_THAT(error_of({"1", "--name", "x"}), HasSubstr("give a process"));
  EXPECT_THAT(error_of({"1", "2", "-o", "x.pb"}), HasSubstr("-o: is for one process"));
  EXPECT_THAT(error_of({"1", "--run", "--record", "x.series"}), HasSubstr("--record: is for one process"));
  EXPECT_THAT(error_of({"1", "--metric", "temporary"}), HasSubstr("--metric: live shows"));
  EXPECT_THAT(error_of({"1", "--younger", "1ms"}), HasSubstr("--younger"));
  EXPECT_THAT(error_of({"1", "--focus", "("}), HasSubstr("--focus"));
  EXPECT_THAT(error_of({"1", "--by", "x"}), HasSubstr("--by"));
  EXPECT_THAT(error_of({"1", "-o", "x.pb", "--by", "line"}), HasSubstr("--by"));
  EXPECT_THAT(error_of({"1", "-o", ""}), HasSubstr("-o"));
  EXPECT_THAT(error_of({"1", "--force"}), HasSubstr("--force and --raw need -o"));
  EXPECT_THAT(error_of({"1", "--interval", "0"}), HasSubstr("--interval: '0'"));
  EXPECT_THAT(error_of({"1", "--interval", "x"}), HasSubstr("--interval: 'x'"));
  EXPECT_THAT(error_of({"1", "--count", "-1"}), HasSubstr("--count"));
  EXPECT_THAT(error_of({"1", "-n", "many"}), HasSubstr("-n"));
  EXPECT_THAT(error_of({"1", "--wrong"}), HasSubstr("--wrong"));
}

}  // namespace
}  // namespace memprof::cli
