// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/spool/kept_page.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(KeptPage, KeepsWhatWasWrittenLast) {
  const testing_tools::Folder folder;
  {
    KeptPage file(folder / "a");
    EXPECT_EQ(file.read(), "");
    EXPECT_TRUE(file.write("a longer text than the next"));
    EXPECT_TRUE(file.write("short"));
    EXPECT_FALSE(file.write(std::string(KeptPage::kBytes, 'x')));
  }
  EXPECT_EQ(KeptPage(folder / "a").read(), "short");
  EXPECT_EQ(std::filesystem::file_size(folder / "a"), KeptPage::kBytes);
}

TEST(KeptPage, OneHasIt) {
  const testing_tools::Folder folder;
  KeptPage second(folder / "a");
  {
    KeptPage first(folder / "a");
    EXPECT_TRUE(first.lock());
    EXPECT_FALSE(second.lock());
  }
  EXPECT_TRUE(second.lock());
}

TEST(KeptPage, WhatIsNoFileIsRefused) {
  const testing_tools::Folder folder;
  EXPECT_THROW(KeptPage(folder / "gone/a"), Failure);
  EXPECT_THROW(KeptPage(folder.path()), Failure);
  std::filesystem::create_symlink("/etc/passwd", folder / "link");
  EXPECT_THROW(KeptPage(folder / "link"), Failure);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(KeptPage(folder / "pipe"), Failure);
}

}  // namespace
}  // namespace memprof::cli
