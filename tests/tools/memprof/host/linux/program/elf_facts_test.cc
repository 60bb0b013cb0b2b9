// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/elf_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/memprof/elf.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing_tools::fixture;
using testing_tools::Folder;

ElfFacts facts_of(const std::string& path) {
  return testing_tools::facts_in(path, read_elf_facts);
}

TEST(ElfFacts, AnOrdinaryProgram) {
  const ElfFacts facts = facts_of(fixture("program"));
  EXPECT_EQ(facts.malloc, ElfFacts::Malloc::kNone);
  EXPECT_THAT(facts.needed, Contains("libc.so.6"));
  EXPECT_EQ(testing_tools::facts_in(fixture("program"), needed_by), facts.needed);
  EXPECT_THAT(facts.own_interface, IsEmpty());
  EXPECT_TRUE(facts.has_symbols);
  EXPECT_TRUE(facts.has_unwind_tables);
  EXPECT_GT(facts.unwind_share, 0.9);
  ASSERT_EQ(facts.needs_glibc.size(), 2u);
  EXPECT_GE(facts.needs_glibc, (std::vector<unsigned>{2, 2}));
  EXPECT_FALSE(facts.has_memprof);
  EXPECT_EQ(facts.sanitizer, nullptr);
  EXPECT_FALSE(facts.is_go);
}

TEST(ElfFacts, AnAllocatorInTheProgram) {
  EXPECT_EQ(facts_of(fixture("own_malloc")).malloc, ElfFacts::Malloc::kExported);
  EXPECT_EQ(facts_of(fixture("own_malloc_hidden")).malloc, ElfFacts::Malloc::kHidden);
}

TEST(ElfFacts, StrippedAndStatic) {
  const ElfFacts stripped = facts_of(fixture("stripped"));
  EXPECT_FALSE(stripped.has_symbols);
  EXPECT_THAT(stripped.needed, Contains("libc.so.6"));
  EXPECT_THAT(facts_of(fixture("static_program")).needed, IsEmpty());
}

TEST(ElfFacts, BrokenFilesAreNoCrash) {
  const std::string program = testing_tools::read_file(fixture("program"));
  const Folder folder;
  uint32_t state = 1;
  for (int round = 0; round < 300; ++round) {
    std::string broken = program;
    for (int i = 0; i < 40; ++i) {
      state = state * 1664525 + 1013904223;
      // Headers, tables, and the dynamic sections: all but the identification.
      broken[16 + state % (broken.size() - 16)] = static_cast<char>(state >> 24);
    }
    state = state * 1664525 + 1013904223;
    if (round % 3 == 0) broken.resize(64 + state % (broken.size() - 64));
    testing_tools::write_file(folder / "broken", broken);
    std::string why;
    const auto file = profile::ElfFile::open(folder / "broken", &why);
    if (file != nullptr) {
      const double share = read_elf_facts(*file).unwind_share;
      EXPECT_LE(share, 1);
    }
  }
}

}  // namespace
}  // namespace memprof::cli
