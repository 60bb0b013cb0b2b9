// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "memprof/host/program/target_program.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::fixture;

Checks of_command(const std::string& command) {
  Checks checks;
  check_command(command, &checks);
  return checks;
}

Check named(const Checks& checks, const std::string& name) {
  for (const Check& check : checks.all()) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check " << name << " in\n" << checks.text(0, false);
  return {};
}

TEST(DoctorProgram, NothingStopsAnOrdinaryOne) {
  const Checks checks = of_command(fixture("program"));
  EXPECT_EQ(checks.count(Verdict::kNo), 0u);
  EXPECT_EQ(named(checks, "program").verdict, Verdict::kYes);
  EXPECT_EQ(named(checks, "allocator").verdict, Verdict::kYes);
  EXPECT_EQ(named(checks, "stacks").verdict, Verdict::kYes);
  EXPECT_THAT(named(checks, "names").found, HasSubstr("functions, but no files and lines"));
}

TEST(DoctorProgram, WhatStopsIsSaidWithWhatToDo) {
  const testing_tools::Folder folder;
  EXPECT_THAT(named(of_command(fixture("static_program")), "program").to_do, HasSubstr("libmemprof.a"));
  EXPECT_THAT(named(of_command(folder / "absent"), "program").found, HasSubstr("no such file"));
  const std::string program = testing_tools::read_file(fixture("program"));
  for (const auto& [at, value, part] :
       {std::tuple<size_t, char, const char*>{18, '\x7f', "for another processor"},
        {4, '\1', "a 32-bit program"}}) {
    std::string other = program;
    other[at] = value;
    testing_tools::write_file(folder / "other", other);
    chmod((folder / "other").c_str(), 0755);
    const Check check = named(of_command(folder / "other"), "program");
    EXPECT_EQ(check.verdict, Verdict::kNo);
    EXPECT_THAT(check.found, HasSubstr(part));
    EXPECT_THAT(check.to_do, HasSubstr("another build"));
  }
  std::string musl = program;
  const size_t loader = musl.find("/lib64/ld-linux");
  ASSERT_NE(loader, std::string::npos);
  musl.replace(loader, 15, "/lib/ld-musl-xx");
  testing_tools::write_file(folder / "musl", musl);
  chmod((folder / "musl").c_str(), 0755);
  EXPECT_THAT(named(of_command(folder / "musl"), "program").found, HasSubstr("uses musl"));
  // Who runs it is told the same.
  for (const char* const name : {"other", "musl"}) {
    const Check check = named(of_command(folder / name), "program");
    EXPECT_EQ(inspect_target(folder / name).obstacle, check.found + "; " + check.to_do);
    EXPECT_THAT(check.to_do, HasSubstr("another build"));
  }
}

TEST(DoctorProgram, AnAllocatorInTheProgram) {
#if defined(__x86_64__)
  for (const char* name : {"own_malloc", "own_malloc_hidden"}) {
    const Check check = named(of_command(fixture(name)), "allocator");
    EXPECT_EQ(check.verdict, Verdict::kYes) << name;
    EXPECT_THAT(check.found, HasSubstr("contains malloc, 2 functions: hooked")) << name;
  }
#else
  EXPECT_EQ(named(of_command(fixture("own_malloc")), "allocator").verdict, Verdict::kNo);
  EXPECT_EQ(named(of_command(fixture("own_malloc_hidden")), "allocator").verdict, Verdict::kNote);
#endif
}

// /lib64/ld-linux-... becomes musl's.
std::string with_musl(const testing_tools::Folder& folder, const std::string& program) {
  std::string content = testing_tools::read_file(program);
  const size_t loader = content.find("/lib64/ld-linux");
  if (loader == std::string::npos) return "";
  content.replace(loader, 15, "/lib/ld-musl-xx");
  const std::string path = folder / "with_musl";
  testing_tools::write_file(path, content);
  chmod(path.c_str(), 0755);
  return path;
}

TEST(DoctorProgram, AProgramOfMuslWithTheLibraryForIt) {
#if defined(__x86_64__)
  const testing_tools::Folder folder;
  const std::string program = with_musl(folder, fixture("no_unwind_tables"));
  ASSERT_NE(program, "");
  setenv("MEMPROF_MUSL_LIBRARY", fixture("fake_library.so").c_str(), 1);
  const Checks checks = of_command(program);
  EXPECT_EQ(inspect_target(program).library, fixture("fake_library.so"));
  setenv("MEMPROF_MUSL_LIBRARY", "", 1);
  EXPECT_EQ(named(of_command(program), "program").verdict, Verdict::kNo);
  unsetenv("MEMPROF_MUSL_LIBRARY");
  EXPECT_EQ(named(checks, "program").verdict, Verdict::kYes);
  EXPECT_EQ(named(checks, "stacks").verdict, Verdict::kYes);
  EXPECT_THAT(named(checks, "stacks").found, HasSubstr("of musl"));
#endif
}

TEST(DoctorProgram, StacksAndNames) {
  const Check stacks = named(of_command(fixture("no_unwind_tables")), "stacks");
  EXPECT_EQ(stacks.verdict, Verdict::kNote);
  EXPECT_THAT(stacks.to_do, HasSubstr("-fasynchronous-unwind-tables"));
  const Check names = named(of_command(fixture("stripped")), "names");
  EXPECT_EQ(names.verdict, Verdict::kNote);
  EXPECT_THAT(names.found, HasSubstr("is stripped"));
  EXPECT_THAT(names.found, HasSubstr("without a build id"));
  EXPECT_THAT(names.to_do, HasSubstr("DEBUGINFOD_URLS"));
  EXPECT_EQ(named(of_command(fixture("with_debug_info")), "names").verdict, Verdict::kYes);
}

TEST(DoctorProgram, RuntimesThatCutStacks) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "java", testing_tools::read_file(fixture("program")));
  chmod((folder / "java").c_str(), 0755);
  const Check java = named(of_command(folder / "java"), "Java");
  EXPECT_EQ(java.verdict, Verdict::kNote);
  EXPECT_THAT(java.to_do, HasSubstr("-XX:+PreserveFramePointer"));
  // Of a process, by what it has mapped.
  Checks checks;
  ProgramFiles files;
  files.path = files.shown = fixture("program");
  files.libraries = {"/usr/lib/erlang/erts-13.1.5/bin/beam.smp"};
  check_program(files, &checks);
  EXPECT_THAT(named(checks, "Erlang").to_do, HasSubstr("+JPperf fp"));
}

TEST(DoctorProgram, TheCodeOfAStubIsInItsLibrary) {
  const Checks checks = of_command(fixture("stub"));
  EXPECT_EQ(named(checks, "stacks").verdict, Verdict::kYes);
  const std::string code = "libstubcode.so (the code of " + fixture("stub") + ")";
  EXPECT_THAT(named(checks, "stacks").found, HasSubstr(code + " has unwind tables"));
  EXPECT_THAT(named(checks, "names").found, HasSubstr(code + ": functions, but no files and lines"));
  const Check bare = named(of_command(fixture("stub_bare")), "stacks");
  EXPECT_EQ(bare.verdict, Verdict::kNote);
  EXPECT_THAT(bare.found, HasSubstr("libstubcode_bare.so (the code of "));
}

TEST(DoctorProgram, ScriptsAreWhatExecutesThem) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "wrapper", "#!/bin/sh\nexec server\n");
  chmod((folder / "wrapper").c_str(), 0755);
  const Checks of_shell = of_command(folder / "wrapper");
  EXPECT_THAT(named(of_shell, "script").found, HasSubstr("the programs that it starts are not looked at"));
  EXPECT_EQ(of_shell.text(0, false).find("stripped"), std::string::npos);

  testing_tools::write_file(folder / "script", "#!" + fixture("own_malloc") + "\n");
  chmod((folder / "script").c_str(), 0755);
  const Checks checks = of_command(folder / "script");
  EXPECT_THAT(named(checks, "program").found, HasSubstr("script, executed by " + fixture("own_malloc")));
  EXPECT_THAT(named(checks, "allocator").found, HasSubstr("own_malloc contains "));
}

TEST(DoctorProgram, ItsPython) {
  EXPECT_THAT(named(of_command(fixture("python_3_11")), "Python").found, HasSubstr("CPython 3.11.2: "));
  setenv("PYTHONMALLOC", "malloc", 1);
  EXPECT_THAT(named(of_command(fixture("python_3_11")), "Python").found, HasSubstr("PYTHONMALLOC"));
  unsetenv("PYTHONMALLOC");
  setenv("MEMPROF_PYTHON", "0", 1);
  EXPECT_THAT(named(of_command(fixture("python_3_11")), "Python").found, HasSubstr("is left alone"));
  unsetenv("MEMPROF_PYTHON");
}

TEST(DoctorProgram, AFileThatCannotBeRead) {
  Checks checks;
  ProgramFiles files;
  files.path = "/no/such/file";
  files.shown = "server";
  check_program(files, &checks);
  ASSERT_EQ(checks.all().size(), 1u);
  EXPECT_EQ(checks.all()[0].verdict, Verdict::kNote);
  EXPECT_THAT(checks.all()[0].found, HasSubstr("server cannot be read: no such file"));
}

}  // namespace
}  // namespace memprof::cli
