// SPDX-License-Identifier: Apache-2.0
// With the real library in them: tests/e2e/doctor_test.py.
#include "memprof/doctor/doctor_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memprof/host/program/target_program.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

Checks of_process(pid_t pid) {
  Checks checks;
  check_process(static_cast<uint64_t>(pid), &checks);
  return checks;
}

TEST(DoctorProcess, OneWithoutTheLibrary) {
  const testing_tools::Folder folder;
  testing_tools::Process process(folder, {testing_tools::fixture("program"), "wait"});
  ASSERT_TRUE(process.wait_for("ready"));
  const Checks checks = of_process(process.pid());
  const std::string text = checks.text(0, false);
  EXPECT_THAT(text, HasSubstr("(program) can be inspected"));
  EXPECT_THAT(text, HasSubstr("no    memprof       the library is not loaded there\n"));
  EXPECT_THAT(text, HasSubstr("memprof run -- CMD"));
  EXPECT_THAT(text, HasSubstr("yes   program       " + testing_tools::fixture("program") +
                              ": a library can be preloaded"));
  EXPECT_THAT(text, HasSubstr("yes   allocator "));
  EXPECT_EQ(checks.count(Verdict::kNo), 1u) << text;
  kill(process.pid(), SIGKILL);
  process.end();
}

TEST(DoctorProcess, WhatItsFolderIs) {
  const testing_tools::Folder folder;
  testing_tools::Process process(folder, {testing_tools::fixture("program"), "wait"},
                                 {{"MEMPROF_ARENA_DIR", folder / "absent"}});
  ASSERT_TRUE(process.wait_for("ready"));
  EXPECT_THAT(of_process(process.pid()).text(0, false),
              HasSubstr("note  data folder   " + (folder / "absent")));
  kill(process.pid(), SIGKILL);
  process.end();
}

TEST(DoctorProcess, OneThatCannotBePreloaded) {
  const testing_tools::Folder folder;
  testing_tools::Process process(folder, {testing_tools::fixture("static_program"), "wait"});
  ASSERT_TRUE(process.wait_for("ready"));
  const std::string text = of_process(process.pid()).text(0, false);
  EXPECT_THAT(text, HasSubstr("no    program       " + testing_tools::fixture("static_program") +
                              " is statically linked"));
  // As memprof run says it, and doctor of the program.
  EXPECT_THAT(
      text,
      HasSubstr(split_obstacle(inspect_target(testing_tools::fixture("static_program")).obstacle).to_do));
  kill(process.pid(), SIGKILL);
  process.end();
}

TEST(DoctorProcess, WhatIsNotThere) {
  EXPECT_THAT(of_process(2147483647).text(0, false), HasSubstr("process 2147483647 does not exist"));
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  const Checks checks = of_process(child);
  EXPECT_THAT(checks.text(0, false), HasSubstr("it has ended"));
  EXPECT_EQ(checks.all().size(), 1u);
  EXPECT_EQ(checks.count(Verdict::kNo), 1u);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace memprof::cli
