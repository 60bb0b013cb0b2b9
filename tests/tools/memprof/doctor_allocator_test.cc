// SPDX-License-Identifier: Apache-2.0
// What memprof really sees of such programs: tests/e2e/doctor_test.py.
#include "memprof/doctor_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

std::vector<Check> checks_of(const ElfFacts& facts, const std::string& shown = "/bin/server",
                             const std::string& python_malloc = "",
                             const std::vector<std::string>& libraries = {}) {
  Checks checks;
  check_allocator({shown, shown, libraries, python_malloc}, facts, &checks);
  return checks.all();
}

TEST(DoctorAllocator, WhereMallocIs) {
  ElfFacts facts;
  EXPECT_EQ(checks_of(facts).at(0).verdict, Verdict::kYes);
  EXPECT_EQ(checks_of(facts).size(), 1u);
  facts.malloc = ElfFacts::Malloc::kHidden;
  EXPECT_EQ(checks_of(facts).at(0).verdict, Verdict::kNote);
  facts.malloc = ElfFacts::Malloc::kExported;
  EXPECT_EQ(checks_of(facts).at(0).verdict, Verdict::kNo);
  EXPECT_THAT(checks_of(facts).at(0).to_do, HasSubstr("memprof_report_alloc"));
  facts.has_memprof = true;
  EXPECT_EQ(checks_of(facts).at(0).verdict, Verdict::kYes);
}

TEST(DoctorAllocator, ALibraryThatDefinesMallocIsNamed) {
  const std::string library = testing_tools::fixture("own_malloc");  // defines it, whatever its name
  EXPECT_THAT(checks_of({}, "/bin/server", "", {library}).at(0).found, HasSubstr("that of own_malloc;"));
  EXPECT_THAT(checks_of({}, "/bin/server", "", {testing_tools::fixture("program")}).at(0).found,
              HasSubstr("the C library's"));
  EXPECT_THAT(checks_of({}, "/bin/server", "", {"/no/such/library.so"}).at(0).found,
              HasSubstr("the C library's"));
}

TEST(DoctorAllocator, Sanitizers) {
  ElfFacts facts;
  facts.has_address_sanitizer = true;
  EXPECT_EQ(checks_of(facts).at(0).verdict, Verdict::kNo);
  EXPECT_EQ(checks_of({}, "/bin/server", "", {"/usr/lib/libasan.so.8"}).at(0).verdict, Verdict::kNo);
}

TEST(DoctorAllocator, WhatDoesNotGoThroughMalloc) {
  ElfFacts facts;
  facts.own_interface = {"mallocx", "rallocx"};
  facts.is_go = true;
  const std::vector<Check> checks = checks_of(facts);
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[1].verdict, Verdict::kNote);
  EXPECT_THAT(checks[1].found, HasSubstr("calls mallocx, rallocx"));
  EXPECT_EQ(checks[2].name, "Go");
}

TEST(DoctorAllocator, PythonsArenas) {
  EXPECT_EQ(checks_of({}, "/usr/bin/python3.11").size(), 2u);
  EXPECT_THAT(checks_of({}, "/usr/bin/python3.11").at(1).to_do, HasSubstr("PYTHONMALLOC=malloc"));
  EXPECT_EQ(checks_of({}, "/usr/bin/uwsgi", "", {"/usr/lib/libpython3.11.so.1.0"}).size(), 2u);
  EXPECT_EQ(checks_of({}, "/usr/bin/python3.11", "malloc").size(), 1u);
  EXPECT_EQ(checks_of({}, "/usr/bin/python3.11", "malloc_debug").size(), 1u);
  EXPECT_EQ(checks_of({}, "/usr/bin/python3.11", "pymalloc").size(), 2u);
}

}  // namespace
}  // namespace memprof::cli
