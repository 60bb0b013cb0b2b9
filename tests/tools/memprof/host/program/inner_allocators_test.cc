// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/inner_allocators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(InnerAllocators, ProgramsWithoutOne) {
  EXPECT_TRUE(facts_of(testing_tools::fixture("program"), true).empty());
  EXPECT_EQ(describe_hooked({}), "");
  EXPECT_EQ(describe_hooked({{"jemalloc", 3, false}}), "");
}

}  // namespace
}  // namespace memprof::cli
