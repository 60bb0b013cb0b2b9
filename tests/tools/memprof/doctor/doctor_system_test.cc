// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_system.h"

#include <gmock/gmock.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (before_.empty()) {
      unsetenv(name_);
    } else {
      setenv(name_, before_.c_str(), 1);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
};

Check check_named(const Checks& checks, const std::string& name) {
  for (const Check& check : checks.all()) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check " << name << " in\n" << checks.text(0, false);
  return {};
}

Checks system_checks() {
  Checks checks;
  check_system(&checks);
  return checks;
}

Checks surroundings() {
  Checks checks;
  check_surroundings(&checks);
  return checks;
}

TEST(DoctorSystem, TheLibraryAndWhatItNeeds) {
  const Variable library("MEMPROF_LIBRARY", testing_tools::fixture("fake_library.so"));
  const Checks checks = system_checks();
  EXPECT_EQ(check_named(checks, "library").found, testing_tools::fixture("fake_library.so"));
  EXPECT_EQ(check_named(checks, "C library").verdict, Verdict::kYes);
  EXPECT_THAT(check_named(checks, "C library").found, HasSubstr(gnu_get_libc_version()));
  EXPECT_THAT(check_named(checks, "kernel").found, HasSubstr("Linux "));
}

TEST(DoctorSystem, ALibraryForANewerGlibc) {
  std::string data = testing_tools::read_file(testing_tools::fixture("fake_library.so"));
  const size_t at = data.find("GLIBC_2.");
  ASSERT_NE(at, std::string::npos);
  data.replace(at, 8, "GLIBC_9.");
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "libmemprof.so", data);
  const Variable library("MEMPROF_LIBRARY", folder / "libmemprof.so");
  const Check check = check_named(system_checks(), "C library");
  EXPECT_EQ(check.verdict, Verdict::kNo);
  EXPECT_THAT(check.found, HasSubstr("the library needs 9."));
}

TEST(DoctorSystem, NoLibrary) {
  const testing_tools::Folder folder;
  {
    const Variable library("MEMPROF_LIBRARY", folder / "absent.so");
    const Check check = check_named(system_checks(), "library");
    EXPECT_EQ(check.verdict, Verdict::kNo);
    EXPECT_THAT(check.found, HasSubstr("absent.so is not a file that can be read"));
    EXPECT_THAT(check.to_do, HasSubstr("give the path of libmemprof.so"));
  }
  testing_tools::write_file(folder / "text.so", "this is no library");
  const Variable library("MEMPROF_LIBRARY", folder / "text.so");
  const Check check = check_named(system_checks(), "C library");
  EXPECT_EQ(check.verdict, Verdict::kNo);
  EXPECT_THAT(check.found, HasSubstr("text.so: not an ELF file"));
}

TEST(DoctorSystem, Surroundings) {
  const testing_tools::Folder folder;
  {
    const Variable temporary("TMPDIR", folder.path());
    const Variable servers("DEBUGINFOD_URLS", "http://localhost:1");
    const Variable arenas("MEMPROF_ARENA_DIR", folder / "absent");
    const Variable preload("LD_PRELOAD", "libheaptrack_preload.so");
    const Checks checks = surroundings();
    EXPECT_EQ(check_named(checks, "temp folder").found, folder.path() + " can be written");
    EXPECT_THAT(check_named(checks, "debuginfod").found, HasSubstr("http://localhost:1"));
    EXPECT_EQ(check_named(checks, "data folder").verdict, Verdict::kNote);
    EXPECT_EQ(check_named(checks, "LD_PRELOAD").verdict, Verdict::kNote);
    EXPECT_EQ(checks.count(Verdict::kNo), 0u) << checks.text(0, false);
  }
  {
    const Variable preload("LD_PRELOAD", "libasan.so.8");
    EXPECT_EQ(check_named(surroundings(), "LD_PRELOAD").verdict, Verdict::kNo);
  }
  {
    const Variable preload("LD_PRELOAD", "libother.so");
    EXPECT_EQ(check_named(surroundings(), "LD_PRELOAD").verdict, Verdict::kYes);
  }
  const Variable temporary("TMPDIR", folder / "absent");
  const Check check = check_named(surroundings(), "temp folder");
  EXPECT_EQ(check.verdict, Verdict::kNo);
  EXPECT_THAT(check.found, HasSubstr("absent: no temporary folder can be made there"));
  EXPECT_THAT(check.to_do, HasSubstr("set TMPDIR"));
}

}  // namespace
}  // namespace memprof::cli
