// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/inner_allocators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

std::vector<InnerAllocatorFacts> facts_of(const std::string& path, bool is_program) {
  std::string why;
  const auto file = profile::ElfFile::open(path, &why);
  EXPECT_NE(file, nullptr) << why;
  return file != nullptr ? inner_allocators(*file, is_program) : std::vector<InnerAllocatorFacts>{};
}

TEST(InnerAllocators, MallocOfAProgram) {
  for (const char* name : {"own_malloc", "own_malloc_hidden"}) {
    const auto facts = facts_of(testing_tools::fixture(name), true);
    ASSERT_EQ(facts.size(), 1u) << name;
    EXPECT_EQ(facts[0].name, "malloc");
    EXPECT_EQ(facts[0].functions, 2u);
#if defined(__x86_64__)
    EXPECT_TRUE(facts[0].can_be_hooked);
    EXPECT_EQ(describe_hooked(facts), "malloc, 2 functions");
#endif
    EXPECT_TRUE(facts_of(testing_tools::fixture(name), false).empty()) << name;
  }
}

TEST(InnerAllocators, NamedByADebugFileAlone) {
  const testing_tools::Folder folder;
  const std::string program = folder / "program";
  const std::string debug = folder / "program.debug";
  const auto do_it = [](const std::string& command) { ASSERT_EQ(system(command.c_str()), 0) << command; };
  do_it("objcopy --only-keep-debug " + testing_tools::fixture("own_malloc_hidden") + " " + debug);
  do_it("strip --strip-all -o " + program + " " + testing_tools::fixture("own_malloc_hidden"));
  std::string why;
  const auto file = profile::ElfFile::open(program, &why);
  ASSERT_NE(file, nullptr) << why;
  const std::string id = file->build_id();
  if (id.empty()) GTEST_SKIP() << "this linker writes no build id";
  const std::string place = (folder / "root/usr/lib/debug/.build-id/") + id.substr(0, 2);
  do_it("mkdir -p " + place + " && mv " + debug + " " + place + "/" + id.substr(2) + ".debug");
  EXPECT_TRUE(inner_allocators(*file, true).empty());
  const auto facts = inner_allocators(*file, true, folder / "root");
  ASSERT_EQ(facts.size(), 1u);
  EXPECT_EQ(facts[0].functions, 2u);
}

TEST(InnerAllocators, ProgramsWithoutOne) {
  EXPECT_TRUE(facts_of(testing_tools::fixture("program"), true).empty());
  EXPECT_EQ(describe_hooked({}), "");
  EXPECT_EQ(describe_hooked({{"jemalloc", 3, false}}), "");
}

}  // namespace
}  // namespace memprof::cli
