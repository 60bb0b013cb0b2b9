// SPDX-License-Identifier: Apache-2.0
// What memprof really sees of such programs: tests/e2e/doctor_test.py.
#include "memprof/doctor/doctor_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

ProgramFiles program(const std::string& path, const std::vector<std::string>& libraries = {}) {
  ProgramFiles files;
  files.path = files.shown = path;
  files.libraries = libraries;
  return files;
}

std::vector<Check> checks_of(const ElfFacts& facts, const std::string& shown = "/bin/server",
                             const std::vector<std::string>& libraries = {}) {
  Checks checks;
  check_allocator(program(shown, libraries), facts, "", &checks);
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
  EXPECT_THAT(checks_of({}, "/bin/server", {library}).at(0).found, HasSubstr("that of own_malloc;"));
  EXPECT_THAT(checks_of({}, "/bin/server", {testing_tools::fixture("program")}).at(0).found,
              HasSubstr("the C library's"));
  EXPECT_THAT(checks_of({}, "/bin/server", {"/no/such/library.so"}).at(0).found,
              HasSubstr("the C library's"));
}

TEST(DoctorAllocator, ARuntimesHeapThatIsNotMallocsIsNamed) {
  const std::vector<Check> php = checks_of({}, "/usr/bin/php8.2");
  EXPECT_EQ(php.back().verdict, Verdict::kNote);
  EXPECT_THAT(php.back().found, HasSubstr("PHP's heap is mapped memory"));
  EXPECT_THAT(php.back().to_do, HasSubstr("USE_ZEND_ALLOC=0"));
  EXPECT_THAT(checks_of({}, "/usr/sbin/nginx", {"/usr/lib/libluajit-5.1.so.2"}).back().found,
              HasSubstr("LuaJIT's heap"));
}

TEST(DoctorAllocator, Sanitizers) {
  ElfFacts facts;
  facts.sanitizer = &kSanitizers[0];
  EXPECT_EQ(checks_of(facts).at(0).verdict, Verdict::kNo);
  EXPECT_EQ(checks_of({}, "/bin/server", {"/usr/lib/libasan.so.8"}).at(0).verdict, Verdict::kNo);
  EXPECT_EQ(checks_of({}, "/bin/server", {"/usr/lib/libtsan.so.2"}).at(0).verdict, Verdict::kNo);
  EXPECT_THAT(allocator_obstacle(program("/bin/server"), facts, "").found, HasSubstr("AddressSanitizer"));
  EXPECT_EQ(allocator_obstacle(program("/bin/server"), {}, "").found, "");
}

TEST(DoctorAllocator, OfAFileWhatCanBeHookedIsNoObstacle) {
  const std::string own = std::string(MEMPROF_FIXTURES) + "/own_malloc";
  EXPECT_THAT(
      allocator_obstacle_of(own, HookedAllocators::kNone),
      HasSubstr("own_malloc contains an allocator, whose malloc is called instead of a preloaded one"));
#if defined(__x86_64__)
  EXPECT_EQ(allocator_obstacle_of(own, HookedAllocators::kAllThatCanBe), "");
#endif
  EXPECT_EQ(allocator_obstacle_of("/bin/cat", HookedAllocators::kNone), "");
  EXPECT_EQ(allocator_obstacle_of("/nowhere", HookedAllocators::kNone), "");
}

TEST(DoctorAllocator, WhatDoesNotGoThroughMalloc) {
  ElfFacts facts;
  facts.own_interface = {"mi_malloc", "mi_new"};
  facts.is_go = true;
  const std::vector<Check> checks = checks_of(facts);
  ASSERT_EQ(checks.size(), 3u);
  EXPECT_EQ(checks[1].verdict, Verdict::kNote);
  EXPECT_THAT(checks[1].found, HasSubstr("calls mi_malloc, mi_new"));
  EXPECT_EQ(checks[2].name, "Go");
}

}  // namespace
}  // namespace memprof::cli
