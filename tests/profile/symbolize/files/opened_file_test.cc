// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/opened_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

TEST(OpenedFile, HasTheBytesAndTheirTime) {
  const fixture::Folder folder;
  const std::string path = folder / "file";
  fixture::write_file(path, "some bytes");
  OpenedFile file;
  std::string why;
  ASSERT_TRUE(open_file(path, &file, &why)) << why;
  EXPECT_EQ(file.path, path);
  EXPECT_EQ(file.bytes(), "some bytes");
  EXPECT_TRUE(file.is_trusted);
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(file.changed_unix_ns / 1'000'000'000, static_cast<uint64_t>(status.st_mtim.tv_sec));
  EXPECT_TRUE(why.empty());
}

TEST(OpenedFile, AnEmptyFileHasNoBytes) {
  const fixture::Folder folder;
  fixture::write_file(folder / "file", "");
  OpenedFile file;
  std::string why;
  EXPECT_TRUE(open_file(folder / "file", &file, &why)) << why;
  EXPECT_EQ(file.image, nullptr);
  EXPECT_TRUE(file.bytes().empty());
}

// Its permissions alone say so here; a file of another user is the same (tests of is_trusted).
TEST(OpenedFile, WhatOthersCanChangeIsACopy) {
  const fixture::Folder folder;
  const std::string path = folder / "file";
  fixture::write_file(path, "before");
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  OpenedFile file;
  std::string why;
  ASSERT_TRUE(open_file(path, &file, &why)) << why;
  EXPECT_FALSE(file.is_trusted);
  fixture::write_file(path, "after");
  EXPECT_EQ(file.bytes(), "before");
}

TEST(OpenedFile, HasAnIdentityWhenItIsAtRest) {
  OpenedFile file;
  std::string why;
  const std::string path = fixture::path("pie");
  ASSERT_TRUE(open_file(path, &file, &why)) << why;
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(file.identity, identity_of(status));
  OpenedFile other;
  ASSERT_TRUE(open_file(fixture::path("fixed"), &other, &why)) << why;
  EXPECT_NE(file.identity, other.identity);
  const fixture::Folder folder;
  fixture::write_file(folder / "young", "some bytes");
  OpenedFile young;
  ASSERT_TRUE(open_file(folder / "young", &young, &why)) << why;
  EXPECT_EQ(young.identity, "");
}

TEST(OpenedFile, EachPartOfAnIdentityCounts) {
  struct stat status{};
  ASSERT_EQ(stat(fixture::path("pie").c_str(), &status), 0);
  std::vector<struct stat> others(5, status);
  others[0].st_dev += 1;
  others[1].st_ino += 1;
  others[2].st_size += 1;
  others[3].st_mtim.tv_nsec ^= 1;
  others[4].st_ctim.tv_sec += 1'000'000;
  for (const struct stat& other : others) EXPECT_NE(identity_of(other), identity_of(status));
}

TEST(OpenedFile, SaysWhyItCannotBeRead) {
  OpenedFile file;
  std::string why;
  EXPECT_FALSE(open_file("/nowhere", &file, &why));
  EXPECT_EQ(why, "no such file or directory");
  EXPECT_FALSE(open_file("/dev/null", &file, &why));
  EXPECT_EQ(why, "not a regular file");
}

}  // namespace
}  // namespace memprof::profile
