// SPDX-License-Identifier: Apache-2.0
// What memprof really sees of such programs: tests/e2e/doctor_test.py, doctor_programs_test.py.
#include "memprof/doctor/doctor_python.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof.h"
#include "tests/tools/memprof/doctor.h"

namespace memprof::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing_tools::fixture;
using testing_tools::program;

struct PythonSeen {
  uint32_t objects;
  uint32_t stacks;
};
constexpr PythonSeen kAllSeen{MEMPROF_PYTHON_HOOKED, MEMPROF_PYTHON_STACKS_READ};

Check check_of(const ProgramFiles& files) {
  return testing_tools::only_check(check_python, files);
}

Check check_of_process(const char* name, PythonSeen seen) {
  ProgramFiles files = program(name);
  files.runtimes_seen.emplace();
  (*files.runtimes_seen)[MEMPROF_RUNTIME_CPYTHON - 1] = {0x030b, seen.objects, seen.stacks, 0};
  return check_of(files);
}

TEST(DoctorPython, NothingIsSaidOfOtherPrograms) {
  Checks checks;
  ProgramFiles files = program("program");
  files.libraries = {fixture("own_malloc"), "/no/such/library.so"};
  check_python(files, &checks);
  EXPECT_TRUE(checks.all().empty());
}

TEST(DoctorPython, KnownVersions) {
  Check check = check_of(program("python_3_11"));
  EXPECT_EQ(check.verdict, Verdict::kYes);
  EXPECT_EQ(check.name, "Python");
  EXPECT_EQ(check.found,
            "CPython 3.11.2: its functions and lines will be in stacks; its objects are seen by hooks of its "
            "allocators");
  check = check_of(program("python_3_14t"));
  EXPECT_EQ(check.verdict, Verdict::kYes);
  EXPECT_THAT(check.found, HasSubstr("CPython 3.14.7 (free-threaded): its functions"));
}

TEST(DoctorPython, ALibraryIsNamed) {
  ProgramFiles files = program("program");
  files.libraries = {fixture("own_malloc"), fixture("libpython3.11.so")};
  EXPECT_THAT(check_of(files).found, HasSubstr("CPython 3.11.2 in libpython3.11.so: "));
}

TEST(DoctorPython, VersionsWhoseFramesAreNotKnown) {
  for (const char* name : {"python_3_10", "python_3_16", "python_3_15_altered"}) {
    const Check check = check_of(program(name));
    EXPECT_EQ(check.verdict, Verdict::kNote) << name;
    EXPECT_THAT(check.found, HasSubstr("stacks are native ones only")) << name;
    EXPECT_THAT(check.found, HasSubstr("its objects are seen by hooks")) << name;
    EXPECT_NE(check.to_do, "") << name;
  }
  EXPECT_THAT(check_of(program("python_3_10")).found, HasSubstr("CPython before 3.11: "));
  EXPECT_THAT(check_of(program("python_3_16")).found, HasSubstr("are read of 3.11 to 3.15"));
  EXPECT_THAT(check_of(program("python_3_15_altered")).found, HasSubstr("not laid out as its version says"));
}

TEST(DoctorPython, WhatItsVariablesChange) {
  ProgramFiles files = program("python_3_11");
  files.python_malloc = "malloc";
  EXPECT_EQ(check_of(files).verdict, Verdict::kYes);
  EXPECT_THAT(check_of(files).found, EndsWith("its objects come from malloc (PYTHONMALLOC)"));
  files.python_malloc = "malloc_debug";  // asks malloc for more than the objects
  EXPECT_THAT(check_of(files).found, HasSubstr("hooks of its allocators"));
  files.python_malloc = "";
  files.memprof_python = "stacks";
  Check check = check_of(files);
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, EndsWith("its objects of up to 512 bytes are not seen (MEMPROF_PYTHON=stacks)"));
  EXPECT_EQ(check.to_do, "unset MEMPROF_PYTHON");
  files.memprof_python = "0";
  check = check_of(files);
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, HasSubstr("is left alone"));
  EXPECT_EQ(check.to_do, "unset MEMPROF_PYTHON");
  files.memprof_python = "1";
  EXPECT_EQ(check_of(files).verdict, Verdict::kYes);
}

TEST(DoctorPython, OfAProcessThatIsProfiled) {
  Check check = check_of_process("python_3_11", kAllSeen);
  EXPECT_EQ(check.verdict, Verdict::kYes);
  EXPECT_EQ(check.found,
            "CPython 3.11.2: its functions and lines are in stacks; its objects are seen by hooks of its "
            "allocators");
  check = check_of_process("python_3_11", {MEMPROF_PYTHON_BY_MALLOC, MEMPROF_PYTHON_STACKS_UNCHECKED});
  EXPECT_EQ(check.verdict, Verdict::kYes);
  EXPECT_THAT(check.found, HasSubstr("will be in stacks; its objects come from malloc"));
  check = check_of_process("python_3_11", {MEMPROF_PYTHON_REFUSED, MEMPROF_PYTHON_STACKS_READ});
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, HasSubstr("could not be replaced"));
  EXPECT_EQ(check.to_do, "set PYTHONMALLOC=malloc to see each");
  check = check_of_process("python_3_14t", {MEMPROF_PYTHON_REFUSED, MEMPROF_PYTHON_STACKS_READ});
  EXPECT_THAT(check.found, HasSubstr("its objects are not seen, because"));
  check = check_of_process("python_3_11", {MEMPROF_PYTHON_NONE, MEMPROF_PYTHON_STACKS_READ});
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.to_do, HasSubstr("memprof_options.python"));
}

TEST(DoctorPython, OfAProcessWhoseFramesAreNotRead) {
  Check check =
      check_of_process("python_3_16", {MEMPROF_PYTHON_HOOKED, MEMPROF_PYTHON_STACKS_UNKNOWN_VERSION});
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.to_do, HasSubstr("3.11 to 3.15"));
  // The file looks right, and the process did not.
  check = check_of_process("python_3_15", {MEMPROF_PYTHON_HOOKED, MEMPROF_PYTHON_STACKS_UNKNOWN_LAYOUT});
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, HasSubstr("not laid out as its version says"));
  check = check_of_process("python_3_16", {MEMPROF_PYTHON_REFUSED, MEMPROF_PYTHON_STACKS_UNKNOWN_VERSION});
  EXPECT_EQ(check.to_do,
            "use one of 3.11 to 3.15 for its functions in stacks; set PYTHONMALLOC=malloc to see each");
}

}  // namespace
}  // namespace memprof::cli
