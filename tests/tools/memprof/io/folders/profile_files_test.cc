// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/folders/profile_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "memprof/console/failure.h"
#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ProfileFiles, OfFoldersTheProfilesByName) {
  const testing_tools::Folder folder;
  std::filesystem::create_directories(folder / "shop/old");
  for (const char* name : {"shop/b.pb.gz", "shop/old/a.pb.gz", "shop/notes.txt", "shop/.pb.gz", "x.pb"}) {
    testing_tools::write_file(folder / name, "");
  }
  EXPECT_THAT(profile_files({folder.path()}),
              ElementsAre(folder / "shop/b.pb.gz", folder / "shop/old/a.pb.gz"));
  // A file that is given may have any name, and counts once.
  EXPECT_THAT(profile_files({folder / "x.pb", folder / "shop", folder / "shop/b.pb.gz"}),
              ElementsAre(folder / "shop/b.pb.gz", folder / "shop/old/a.pb.gz", folder / "x.pb"));
  EXPECT_TRUE(is_folder(folder.path()));
  EXPECT_FALSE(is_folder(folder / "x.pb"));
  EXPECT_FALSE(is_folder(folder / "gone"));
  EXPECT_THROW(profile_files({folder / "gone"}), Failure);
}

TEST(ProfileFiles, WhatCannotBeReadIsLeftOutAndNamed) {
  const testing_tools::Folder folder;
  for (int i = 0; i < 8; ++i) testing_tools::write_file(folder / (std::to_string(i) + ".pb.gz"), "");
  std::vector<std::string> read;
  testing::internal::CaptureStderr();
  read_each({folder.path()}, "none", [&](const std::string& path) {
    if (path != folder / "3.pb.gz") throw profile::Error(path + ": damaged");
    read.push_back(path);
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(read, ElementsAre(folder / "3.pb.gz"));
  EXPECT_THAT(said, HasSubstr("left out: " + (folder / "0.pb.gz: damaged")));
  EXPECT_THAT(said, HasSubstr("left out: 2 more"));
  testing::internal::CaptureStderr();
  try {
    read_each({folder.path()}, "nothing of it", [](const std::string& path) { throw profile::Error(path); });
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "nothing of it");
  }
  testing::internal::GetCapturedStderr();
}

}  // namespace
}  // namespace memprof::cli
