// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/arena_folders.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(ArenaFolders, AreWhereTheVariableSays) {
  const testing_tools::Folder folder;
  setenv("MEMPROF_ARENA_DIR", folder.path().c_str(), 1);
  EXPECT_EQ(arena_places(), std::vector<std::string>{std::filesystem::canonical(folder.path())});
  setenv("MEMPROF_ARENA_DIR", (folder / "gone").c_str(), 1);
  EXPECT_TRUE(arena_places().empty());
  unsetenv("MEMPROF_ARENA_DIR");
  EXPECT_FALSE(arena_places().empty());
}

TEST(ArenaFolders, ThoseOfRunsAreFound) {
  const testing_tools::Folder folder;
  EXPECT_TRUE(run_folders(folder.path()).empty());
  std::filesystem::create_directory(folder / (run_folder_name() + "abcdef"));
  std::filesystem::create_directory(folder / "other");
  std::filesystem::create_symlink(folder / "other", folder / (run_folder_name() + "ghijkl"));
  const auto found = run_folders(folder.path());
  ASSERT_EQ(found.size(), 1U) << "no link";
  EXPECT_EQ(found[0].owner, Owner::kLives) << "this process made its name";
}

}  // namespace
}  // namespace memprof::cli
