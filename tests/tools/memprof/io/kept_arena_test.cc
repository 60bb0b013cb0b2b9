// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/kept_arena.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(KeptArena, IsThereWhenTheFileHasGone) {
  const testing_tools::Folder folder;
  const std::string path = folder / "a.arena";
  // A hole between two pieces.
  testing_tools::write_file(path, "begin");
  std::filesystem::resize_file(path, 3 << 20);
  std::ofstream(path, std::ios::binary | std::ios::app) << "end";
  const std::string content = testing_tools::read_file(path);
  std::string copy;
  {
    KeptArena kept(path);
    unlink(path.c_str());
    copy = kept.copy();
    EXPECT_EQ(std::filesystem::path(copy).filename(), "a.arena");
    EXPECT_EQ(testing_tools::read_file(copy), content);
    EXPECT_EQ(kept.copy(), copy) << "it is copied once";
  }
  EXPECT_FALSE(std::filesystem::exists(copy));
}

TEST(KeptArena, AnotherFileOfTheSameNameIsAnotherPrograms) {
  const testing_tools::Folder folder;
  const std::string path = folder / "a.arena";
  testing_tools::write_file(path, "first");
  KeptArena kept(path);
  EXPECT_FALSE(kept.is_replaced());
  unlink(path.c_str());
  EXPECT_FALSE(kept.is_replaced()) << "it is gone";
  testing_tools::write_file(path, "second");
  EXPECT_TRUE(kept.is_replaced());
  EXPECT_EQ(testing_tools::read_file(kept.copy()), "first");
}

TEST(KeptArena, WhatWasNeverThereCannotBeCopied) {
  const testing_tools::Folder folder;
  KeptArena kept(folder / "none.arena");
  EXPECT_THROW(kept.copy(), Failure);
  EXPECT_FALSE(kept.is_replaced());
}

}  // namespace
}  // namespace memprof::cli
