// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/mini_symbols.h"

#include <gtest/gtest.h>

#include "profile/symbolize/symbolizer.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

TEST(MiniSymbols, NameAStrippedProgram) {
  const auto running = fixture::run(fixture::path("mini_stripped"), fixture::kBuildId);
  ASSERT_EQ(running.functions.size(), 7u);
  Profile profile = fixture::profile_of(running);
  Symbolizer().symbolize(profile);
  EXPECT_EQ(fixture::names(profile), fixture::expected_names(running));
}

TEST(MiniSymbols, OtherFilesHaveNone) {
  std::string why;
  EXPECT_EQ(open_mini_symbols(*ElfFile::open(fixture::path("stripped"), &why)), nullptr);
}

TEST(MiniSymbols, DamageGivesNone) {
  const std::string whole = fixture::read_file(fixture::path("mini_stripped"));
  std::string why;
  const auto file = ElfFile::open(fixture::path("mini_stripped"), &why);
  ASSERT_NE(open_mini_symbols(*file), nullptr);
  const std::string packed(file->section(".gnu_debugdata"));
  const size_t at = whole.find(packed);
  ASSERT_NE(at, std::string::npos);
  const fixture::Folder folder;
  for (size_t i = 0; i < packed.size(); i += packed.size() / 20) {
    std::string damaged = whole;
    damaged[at + i] = static_cast<char>(damaged[at + i] ^ 0x55);
    fixture::write_file(folder / "damaged", damaged);
    EXPECT_EQ(open_mini_symbols(*ElfFile::open(folder / "damaged", &why)), nullptr) << i;
  }
}

}  // namespace
}  // namespace memprof::profile
