// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/arena_beginning.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::Folder;

TEST(ArenaBeginning, IsReadOfOrdinaryFilesOnly) {
  const Folder folder;
  EXPECT_FALSE(read_beginning(folder / "none").is_file);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_beginning(folder / "pipe").is_file);
  const std::string file = folder / "file";
  std::ofstream(file) << std::string(4096, 'x');
  ASSERT_EQ(symlink(file.c_str(), (folder / "link").c_str()), 0);
  EXPECT_FALSE(read_beginning(folder / "link").is_file);
  EXPECT_TRUE(read_beginning(file).is_begun);
  EXPECT_EQ(read_beginning(file).run_token, 0x7878787878787878u);
  std::ofstream(folder / "short") << "x";
  EXPECT_TRUE(read_beginning(folder / "short").is_file);
  EXPECT_TRUE(read_beginning(folder / "short").is_begun);
  EXPECT_EQ(read_beginning(folder / "short").run_token, 0u);
  std::ofstream(folder / "empty") << "";
  EXPECT_FALSE(read_beginning(folder / "empty").is_begun);
}

}  // namespace
}  // namespace memprof::cli
