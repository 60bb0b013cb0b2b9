// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/unwind_share.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

double share_of(const std::string& path) {
  std::string why;
  const auto file = profile::ElfFile::open(path, &why);
  EXPECT_NE(file, nullptr) << path << ": " << why;
  return file != nullptr ? unwind_share(*file) : -2;
}

TEST(UnwindShare, OfWhatCompilersAndDistributionsMake) {
  EXPECT_GT(share_of(testing_tools::fixture("program")), 0.95);
  EXPECT_GT(share_of(testing_tools::fixture("stripped")), 0.95);
  EXPECT_GT(share_of(MEMPROF_PROGRAM), 0.95);  // large, C++, with personality routines
  EXPECT_GT(share_of("/bin/sh"), 0.95);
}

TEST(UnwindShare, FillBetweenFunctionsIsNoCode) {
  EXPECT_GT(share_of(testing_tools::fixture("stub")), 0.95);
}

TEST(UnwindShare, OfCodeWithoutTables) {
  const double share = share_of(testing_tools::fixture("no_unwind_tables"));
  EXPECT_GE(share, 0);
  EXPECT_LT(share, 0.7);
}

TEST(UnwindShare, ABrokenTableCannotBeTold) {
  std::string why;
  const std::string path = testing_tools::fixture("program");
  const auto file = profile::ElfFile::open(path, &why);
  ASSERT_NE(file, nullptr);
  const std::string_view table = file->section(".eh_frame");
  ASSERT_FALSE(table.empty());
  std::string program = testing_tools::read_file(path);
  const size_t at = program.find(table);
  ASSERT_NE(at, std::string::npos);
  program.replace(at, 4, "\xff\xff\xff\x7f");  // the first entry is longer than the table
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "broken", program);
  EXPECT_LT(share_of(folder / "broken"), 0);
}

}  // namespace
}  // namespace memprof::cli
