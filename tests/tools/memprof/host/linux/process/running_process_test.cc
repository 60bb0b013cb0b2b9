// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/running_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

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
  EXPECT_THAT(error_of([] { find_process("2147483647"); }), HasSubstr("process 2147483647 does not exist"));
}

TEST(RunningProcess, OneWithoutTheLibraryIsToldHowToGetIt) {
  const std::string self = std::to_string(getpid());
  EXPECT_THAT(error_of([&] { find_process(self); }), HasSubstr("(memprof_cli_tests) has no memprof data"));
  EXPECT_THAT(error_of([&] { find_process(self); }), HasSubstr("memprof run"));
  EXPECT_THAT(error_of([] { find_process_named("no such program"); }), HasSubstr("there is no such process"));
}

// Under a name that no other test has.
TEST(RunningProcess, OfSeveralWithoutTheLibraryItIsSaidToo) {
  char folder[] = "/tmp/running-process-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(folder));
  const std::string name = "without-" + std::to_string(getpid());
  const std::filesystem::path program = std::filesystem::path(folder) / name;
  std::filesystem::copy_file(std::filesystem::canonical("/bin/sleep"), program);
  pid_t children[2];
  for (pid_t& child : children) {
    child = fork();
    if (child == 0) {
      execl(program.c_str(), "sleep", "600", nullptr);
      _exit(127);
    }
    std::error_code error;
    const auto link = "/proc/" + std::to_string(child) + "/exe";
    while (is_running(static_cast<uint64_t>(child)) &&
           std::filesystem::read_symlink(link, error) != program) {
      usleep(1000);
    }
  }
  EXPECT_THAT(error_of([&] { find_process_named(name); }), HasSubstr("has memprof data; the library"));
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  std::filesystem::remove_all(folder);
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

TEST(RunningProcess, IsOwnWhereItRunsAsThisUser) {
  EXPECT_TRUE(is_own_process(static_cast<uint64_t>(getpid())));
  EXPECT_FALSE(is_own_process(0)) << "not known";
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  constexpr uid_t kUser = 64321;
  const pid_t child = fork();
  if (child == 0) _exit(setuid(kUser) == 0 && !is_own_process(1) ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(RunningProcess, WhatMayNotBeLookedAtIsNotMissing) {
  EXPECT_FALSE(is_missing("/proc/self/stat"));
  EXPECT_TRUE(is_missing("/proc/2147483647/stat"));
  EXPECT_TRUE(is_missing("/proc/self/stat/below"));
  EXPECT_FALSE(is_missing("/" + std::string(100000, 'x')));  // ENAMETOOLONG
}

TEST(RunningProcess, FactsOfTheSystem) {
  const auto self = static_cast<uint64_t>(getpid());
  EXPECT_EQ(program_of(self), "memprof_cli_tests");
  EXPECT_GT(resident_bytes(self), uint64_t{1} << 20);
  EXPECT_EQ(resident_bytes(2147483647), 0u);
  EXPECT_EQ(program_of(2147483647), "");
  EXPECT_EQ(access(executable_of(self).c_str(), X_OK), 0);
}

}  // namespace
}  // namespace memprof::cli
