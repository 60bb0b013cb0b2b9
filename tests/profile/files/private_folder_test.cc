// SPDX-License-Identifier: Apache-2.0
#include "profile/files/private_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/folder.h"

namespace memprof::profile {
namespace {

namespace fs = std::filesystem;
using testing_support::TemporaryFolder;

constexpr size_t kRoom = 100;

unsigned mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777U;
}

struct PrivateFolderTest : testing::Test {
  TemporaryFolder parent;
  PrivateFolder folder{parent.path("."), {"memprof", "names"}};
  std::string why;

  std::string path(const std::string& name) const { return parent.path("memprof/names/" + name); }
};

TEST_F(PrivateFolderTest, WhatIsWrittenIsRead) {
  EXPECT_FALSE(folder.read("a", kRoom));
  EXPECT_TRUE(folder.files().empty());
  EXPECT_FALSE(fs::exists(parent.path("memprof")));  // to read makes nothing
  ASSERT_TRUE(folder.write("a", "first", &why)) << why;
  ASSERT_TRUE(folder.write("a", "second", &why)) << why;
  EXPECT_EQ(folder.read("a", kRoom), "second");
  EXPECT_FALSE(folder.read("a", 5));
  ASSERT_EQ(folder.files().size(), 1u);
  EXPECT_EQ(folder.files()[0].name, "a");
  EXPECT_EQ(folder.files()[0].size_bytes, 6u);
  EXPECT_EQ(mode_of(path("")), 0700u);
  EXPECT_EQ(mode_of(parent.path("memprof")), 0755u);
  EXPECT_EQ(mode_of(path("a")), 0600u);
  folder.remove("a");
  EXPECT_TRUE(folder.files().empty());
}

TEST_F(PrivateFolderTest, ItIsMadeAgainWhenItWasRemoved) {
  ASSERT_TRUE(folder.write("a", "first", &why)) << why;
  fs::remove_all(parent.path("memprof"));
  EXPECT_FALSE(folder.read("a", kRoom));
  ASSERT_TRUE(folder.write("a", "second", &why)) << why;
  EXPECT_EQ(folder.read("a", kRoom), "second");
}

TEST_F(PrivateFolderTest, AFileThatOthersMayWriteIsNotRead) {
  ASSERT_TRUE(folder.write("a", "names", &why)) << why;
  ASSERT_EQ(chmod(path("a").c_str(), 0622), 0);
  EXPECT_FALSE(folder.read("a", kRoom));
  ASSERT_TRUE(folder.write("a", "mine", &why)) << why;  // takes its place
  EXPECT_EQ(folder.read("a", kRoom), "mine");
}

TEST_F(PrivateFolderTest, LinksAreNotFollowed) {
  ASSERT_TRUE(folder.write("a", "names", &why)) << why;
  const std::string elsewhere = parent.write("elsewhere", "others");
  fs::remove(path("a"));
  fs::create_symlink(elsewhere, path("a"));
  EXPECT_FALSE(folder.read("a", kRoom));
  EXPECT_TRUE(folder.files().empty());
  ASSERT_TRUE(folder.write("a", "mine", &why)) << why;
  EXPECT_EQ(testing_support::read_file(elsewhere), "others");
  fs::rename(parent.path("memprof"), parent.path("moved"));
  fs::create_directory_symlink(parent.path("moved"), parent.path("memprof"));
  EXPECT_FALSE(folder.read("a", kRoom));
  EXPECT_FALSE(folder.write("a", "mine", &why));
}

TEST_F(PrivateFolderTest, AFolderThatOthersMayWriteIsNotUsed) {
  ASSERT_TRUE(folder.write("a", "names", &why)) << why;
  ASSERT_EQ(chmod(path("").c_str(), 0770), 0);
  EXPECT_FALSE(folder.read("a", kRoom));
  EXPECT_FALSE(folder.write("a", "more", &why));
  EXPECT_EQ(why, parent.path(".") + "/memprof/names: belongs to another user, or others may write to it");
}

TEST_F(PrivateFolderTest, AParentInWhichOthersMayReplaceIsNotUsed) {
  ASSERT_TRUE(folder.write("a", "names", &why)) << why;
  ASSERT_EQ(chmod(parent.path(".").c_str(), 0777), 0);
  EXPECT_FALSE(folder.read("a", kRoom));
  EXPECT_FALSE(folder.write("a", "more", &why));
  EXPECT_EQ(why, parent.path(".") + ": other users may replace what is in it");
  ASSERT_EQ(chmod(parent.path(".").c_str(), 01777), 0);  // as /tmp
  EXPECT_EQ(folder.read("a", kRoom), "names");
}

TEST_F(PrivateFolderTest, WhatBelongsToAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "to give files away takes root";
  ASSERT_TRUE(folder.write("a", "names", &why)) << why;
  ASSERT_EQ(chown(path("a").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(folder.read("a", kRoom));
  ASSERT_TRUE(folder.write("a", "names", &why)) << why;
  ASSERT_EQ(chown(path("").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(folder.read("a", kRoom));
  EXPECT_FALSE(folder.write("a", "names", &why));
  ASSERT_EQ(chown(path("").c_str(), 0, 0), 0);
  EXPECT_EQ(folder.read("a", kRoom), "names");
  ASSERT_EQ(chown(parent.path(".").c_str(), 12345, 12345), 0);
  EXPECT_FALSE(folder.read("a", kRoom));
}

TEST_F(PrivateFolderTest, SaysWhyNothingCanBeWritten) {
  EXPECT_FALSE(PrivateFolder("here", {"names"}).write("a", "", &why));
  EXPECT_EQ(why, "here: not an absolute path");
  EXPECT_FALSE(PrivateFolder(parent.path("gone"), {"names"}).write("a", "", &why));
  EXPECT_EQ(why, parent.path("gone") + ": No such file or directory");
  parent.write("memprof", "a file");
  EXPECT_FALSE(folder.write("a", "", &why));
  EXPECT_EQ(why, parent.path(".") + "/memprof: Not a directory");
}

TEST_F(PrivateFolderTest, AFileThatIsUsedBecomesYoung) {
  ASSERT_TRUE(folder.write("a", "names", &why)) << why;
  const timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, path("a").c_str(), times, 0), 0);
  constexpr uint64_t kHourNs = 3'600'000'000'000;
  folder.touch_if_older("a", UINT64_MAX / 2);
  EXPECT_EQ(folder.files()[0].written_ns, 1'000'000'000'000u);
  folder.touch_if_older("a", kHourNs);
  const uint64_t now = folder.files()[0].written_ns;
  EXPECT_GT(now, 1'000'000'000'000u);
  folder.touch_if_older("a", kHourNs);
  EXPECT_EQ(folder.files()[0].written_ns, now);
}

}  // namespace
}  // namespace memprof::profile
