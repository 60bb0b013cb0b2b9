// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/target_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::fixture;
using testing_tools::Folder;
using testing_tools::write_file;

std::string executable(const Folder& folder, const std::string& name, const std::string& data) {
  write_file(folder / name, data);
  chmod((folder / name).c_str(), 0755);
  return folder / name;
}

TEST(TargetProgram, AnOrdinaryProgramHasNoObstacle) {
  const TargetProgram target = inspect_target(fixture("program"));
  EXPECT_EQ(target.status, 0);
  EXPECT_EQ(target.path, fixture("program"));
  EXPECT_EQ(target.obstacle, "");
  EXPECT_TRUE(target.can_preload);
}

TEST(TargetProgram, IsSearchedForInPath) {
  EXPECT_EQ(inspect_target("sh").status, 0);
  EXPECT_THAT(inspect_target("sh").path, ::testing::EndsWith("/sh"));
  const TargetProgram missing = inspect_target("no-such-program");
  EXPECT_EQ(missing.status, kNotFound);
  EXPECT_EQ(missing.error, "no-such-program: cannot run it: not found in PATH");
  EXPECT_EQ(inspect_target("").status, kNotFound);
}

TEST(TargetProgram, WhatCannotBeExecuted) {
  const Folder folder;
  write_file(folder / "text", "x");
  EXPECT_EQ(inspect_target(folder / "text").status, kCannotExecute);
  EXPECT_EQ(inspect_target(folder.path()).status, kCannotExecute);
  EXPECT_EQ(inspect_target(folder / "gone").status, kNotFound);
  EXPECT_EQ(inspect_target(folder / "text/x").status, kNotFound);
}

TEST(TargetProgram, StaticProgramsCannotBePreloaded) {
  const TargetProgram target = inspect_target(fixture("static_program"));
  EXPECT_EQ(target.status, 0);
  EXPECT_THAT(target.obstacle, HasSubstr("static_program is statically linked"));
}

TEST(TargetProgram, AnObstacleSaysWhatToDo) {
  const Obstacle parts = split_obstacle(inspect_target(fixture("static_program")).obstacle);
  EXPECT_EQ(parts.found,
            fixture("static_program") + " is statically linked, so that no library can be preloaded");
  EXPECT_EQ(parts.to_do, "link libmemprof.a into it");
  EXPECT_EQ(split_obstacle("a is so").found, "a is so");
  EXPECT_EQ(split_obstacle("a is so").to_do, "");
}

// Python's ctypes.util.find_library() executes it.
TEST(TargetProgram, NobodyIsToldToLinkAProgramOfTheSystem) {
  for (const char* path : {"/sbin/ldconfig.real", "/sbin/ldconfig"}) {
    const TargetProgram target = inspect_target(path);
    if (target.obstacle.find("statically linked") == std::string::npos) continue;
    EXPECT_EQ(split_obstacle(target.obstacle).to_do, "");
    return;
  }
  GTEST_SKIP() << "no static program of the system is here";
}

TEST(TargetProgram, GoIsNotToldToLinkALibraryOfC) {
  const Folder folder;
  write_file(folder / "id", "x");
  const std::string command = "objcopy --add-section .note.go.buildid=" + (folder / "id") + " " +
                              fixture("static_program") + " " + (folder / "go");
  ASSERT_EQ(system(command.c_str()), 0);
  const Obstacle parts = split_obstacle(inspect_target(folder / "go").obstacle);
  EXPECT_THAT(parts.found, HasSubstr("is statically linked"));
  EXPECT_EQ(parts.to_do, "it is Go: its own heap profile is runtime/pprof");
}

TEST(TargetProgram, TheLoaderOfAFile) {
  EXPECT_THAT(elf_interpreter(fixture("program")), HasSubstr("/ld-"));
  EXPECT_EQ(elf_interpreter(fixture("static_program")), "");
  EXPECT_EQ(elf_interpreter("/proc/self/status"), "");
  EXPECT_EQ(elf_interpreter("/no/such/file"), "");
  EXPECT_TRUE(is_musl_loader("/lib/ld-musl-x86_64.so.1"));
  EXPECT_FALSE(is_musl_loader("/lib64/ld-linux-x86-64.so.2"));
}

TEST(TargetProgram, ScriptsAreWhatTheirInterpreterIs) {
  const Folder folder;
  EXPECT_EQ(inspect_target(executable(folder, "ok", "#! /bin/sh -e\n")).obstacle, "");
  EXPECT_THAT(inspect_target(executable(folder, "static", "#!" + fixture("static_program") + "\n")).obstacle,
              HasSubstr("statically linked"));
  const TargetProgram missing = inspect_target(executable(folder, "missing", "#!/no/such/interpreter\n"));
  EXPECT_EQ(missing.status, kNotFound);
  EXPECT_THAT(missing.error, HasSubstr("its interpreter /no/such/interpreter"));
  // A script that is its own interpreter: no endless search.
  EXPECT_EQ(inspect_target(executable(folder, "loop", "#!" + (folder / "loop") + "\n")).obstacle, "");
  EXPECT_EQ(inspect_target(executable(folder, "bare", "echo\n")).status, 0);
  EXPECT_EQ(inspect_target(executable(folder, "empty", "")).status, 0);
}

TEST(TargetProgram, KnowsTheProgramBehindAScript) {
  const Folder folder;
  EXPECT_EQ(inspect_target(fixture("program")).elf, fixture("program"));
  EXPECT_EQ(inspect_target(executable(folder, "direct", "#!" + fixture("program") + " exit\n")).elf,
            fixture("program"));
  EXPECT_EQ(inspect_target(executable(folder, "through", "#!" + (folder / "direct") + "\n")).elf,
            fixture("program"));
  // env searches in PATH; with options, or as env -S does, nothing is known but env itself.
  EXPECT_EQ(
      inspect_target(executable(folder, "searched", "#!/usr/bin/env " + fixture("program") + " exit\n")).elf,
      fixture("program"));
  EXPECT_THAT(inspect_target(executable(folder, "named", "#!/usr/bin/env sh\n")).elf,
              ::testing::EndsWith("/sh"));
  for (const char* words : {"", " ", " -S sh", " A=b sh", " no-such-program"}) {
    EXPECT_EQ(inspect_target(executable(folder, "env", "#!/usr/bin/env" + std::string(words) + "\n")).elf,
              "/usr/bin/env")
        << words;
  }
  const TargetProgram target =
      inspect_target(executable(folder, "static_env", "#!/usr/bin/env " + fixture("static_program") + "\n"));
  EXPECT_THAT(target.obstacle, HasSubstr("statically linked"));
  EXPECT_EQ(inspect_target(executable(folder, "round", "#!/usr/bin/env " + (folder / "round") + "\n")).status,
            0);
  EXPECT_EQ(inspect_target(folder / "gone").elf, "");
}

TEST(TargetProgram, OtherMachinesAndWordSizes) {
  const Folder folder;
  std::string program = testing_tools::read_file(fixture("program"));
  std::string other = program;
  other[18] = 0x7f;  // e_machine
  const TargetProgram foreign = inspect_target(executable(folder, "foreign", other));
  EXPECT_THAT(foreign.obstacle, HasSubstr("for another processor"));
  EXPECT_FALSE(foreign.can_preload);
  other = program;
  other[4] = 1;  // ELFCLASS32
  EXPECT_THAT(inspect_target(executable(folder, "narrow", other)).obstacle, HasSubstr("a 32-bit program"));
  inspect_target(executable(folder, "cut", program.substr(0, 70)));  // no crash
}

TEST(TargetProgram, SetUidOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file away";
  const Folder folder;
  const std::string path = executable(folder, "tool", testing_tools::read_file(fixture("program")));
  chmod(path.c_str(), 04755);
  EXPECT_EQ(inspect_target(path).obstacle, "") << "our own";
  ASSERT_EQ(chown(path.c_str(), 12345, 0), 0);
  chmod(path.c_str(), 04755);
  EXPECT_THAT(inspect_target(path).obstacle, HasSubstr("is set-uid"));
  ASSERT_EQ(chown(path.c_str(), 0, 12345), 0);
  chmod(path.c_str(), 02755);
  EXPECT_THAT(inspect_target(path).obstacle, HasSubstr("is set-gid"));
}

}  // namespace
}  // namespace memprof::cli
