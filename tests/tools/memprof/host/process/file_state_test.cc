// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/file_state.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(FileState, ChangesWithTheFile) {
  const testing_tools::Folder folder;
  const std::string file = folder / "a";
  EXPECT_EQ(file_state(file), "");
  testing_tools::write_file(file, "one");
  const std::string first = file_state(file);
  EXPECT_NE(first, "");
  EXPECT_EQ(file_state(file), first);
  testing_tools::write_file(file, "longer");
  EXPECT_NE(file_state(file), first);
}

TEST(FileState, IsOfTheFileNotOfItsName) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "a", "one");
  testing_tools::write_file(folder / "b", "two");
  std::filesystem::last_write_time(folder / "b", std::filesystem::last_write_time(folder / "a"));
  EXPECT_NE(file_state(folder / "a"), file_state(folder / "b"));
}

}  // namespace
}  // namespace memprof::cli
