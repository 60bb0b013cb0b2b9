// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/running_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

template <typename Find>
std::string error_of(const Find& find) {
  try {
    find();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), 2);
    return failure.what();
  }
  return "no error";
}

TEST(RunningProcess, WhatIsNoIdIsSaid) {
  for (const char* text : {"", "abc", "-1", "0", "12x", "99999999999999999999"}) {
    EXPECT_THAT(error_of([&] { find_process(text); }), HasSubstr("is not a process id")) << text;
  }
  EXPECT_THAT(error_of([] { find_process("2147483647"); }), HasSubstr("there is no process 2147483647"));
}

TEST(RunningProcess, OneWithoutTheLibraryIsToldHowToGetIt) {
  const std::string self = std::to_string(getpid());
  EXPECT_THAT(error_of([&] { find_process(self); }), HasSubstr("(memprof_cli_tests) has no memprof data"));
  EXPECT_THAT(error_of([&] { find_process(self); }), HasSubstr("memprof run"));
  EXPECT_THAT(error_of([] { find_process_named("no such program"); }), HasSubstr("there is no such process"));
  const pid_t child = fork();
  if (child == 0) {
    pause();
  }
  EXPECT_THAT(error_of([] { find_process_named("memprof_cli_tests"); }),
              HasSubstr("has memprof data; the library"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(RunningProcess, AZombieHasNothing) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(0);
  }
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_THAT(error_of([&] { find_process(std::to_string(child)); }), HasSubstr("it has ended"));
  EXPECT_TRUE(is_running(static_cast<uint64_t>(child)));
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_running(static_cast<uint64_t>(child)));
}

TEST(RunningProcess, FactsOfTheSystem) {
  const auto self = static_cast<uint64_t>(getpid());
  EXPECT_EQ(program_of(self), "memprof_cli_tests");
  EXPECT_GT(resident_bytes(self), uint64_t{1} << 20);
  EXPECT_EQ(resident_bytes(2147483647), 0u);
  EXPECT_EQ(program_of(2147483647), "");
}

}  // namespace
}  // namespace memprof::cli
