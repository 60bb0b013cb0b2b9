// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/spool/page_file.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(PageFile, KeepsWhatWasWrittenLast) {
  const testing_tools::Folder folder;
  {
    PageFile file(folder / "a");
    EXPECT_EQ(file.read(), "");
    EXPECT_TRUE(file.write("a longer text than the next"));
    EXPECT_TRUE(file.write("short"));
    EXPECT_FALSE(file.write(std::string(PageFile::kBytes, 'x')));
  }
  EXPECT_EQ(PageFile(folder / "a").read(), "short");
  EXPECT_EQ(std::filesystem::file_size(folder / "a"), PageFile::kBytes);
}

TEST(PageFile, OneHasIt) {
  const testing_tools::Folder folder;
  PageFile second(folder / "a");
  {
    PageFile first(folder / "a");
    EXPECT_TRUE(first.lock());
    EXPECT_FALSE(second.lock());
  }
  EXPECT_TRUE(second.lock());
}

TEST(PageFile, WhatIsNoFileIsRefused) {
  const testing_tools::Folder folder;
  EXPECT_THROW(PageFile(folder / "gone/a"), Failure);
  EXPECT_THROW(PageFile(folder.path()), Failure);
  std::filesystem::create_symlink("/etc/passwd", folder / "link");
  EXPECT_THROW(PageFile(folder / "link"), Failure);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(PageFile(folder / "pipe"), Failure);
}

}  // namespace
}  // namespace memprof::cli
