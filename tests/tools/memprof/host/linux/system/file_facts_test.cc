// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/file_facts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string>

#include "tests/support/folder.h"

namespace memprof::cli {
namespace {

using testing_support::TemporaryFolder;

TEST(FileFacts, OfWhatIsAtThePathItself) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", std::string(5000, 'x'));
  FileFacts facts;
  ASSERT_EQ(read_file_facts(file, &facts), 0);
  EXPECT_TRUE(facts.is_file);
  EXPECT_FALSE(facts.is_folder);
  EXPECT_EQ(facts.user_id, geteuid());
  EXPECT_EQ(facts.memory_bytes % 512, 0u);
  EXPECT_NEAR(static_cast<double>(facts.changed_s), static_cast<double>(std::time(nullptr)), 60);
  ASSERT_EQ(read_file_facts(folder.path(""), &facts), 0);
  EXPECT_TRUE(facts.is_folder);
  ASSERT_EQ(symlink(file.c_str(), folder.path("link").c_str()), 0);
  ASSERT_EQ(read_file_facts(folder.path("link"), &facts), 0);
  EXPECT_FALSE(facts.is_file);
  EXPECT_EQ(read_file_facts(folder.path("none"), &facts), ENOENT);
}

TEST(FileFacts, OfUsers) {
  EXPECT_TRUE(may_change_of(geteuid()));
  EXPECT_EQ(may_change_of(geteuid() + 1), geteuid() == 0);
  EXPECT_EQ(user_name(0), "root (uid 0)");
  EXPECT_EQ(user_name(4000000001u), "(uid 4000000001)");
}

TEST(FileFacts, WhatMayBeDone) {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "x");
  EXPECT_EQ(why_not_readable(file), 0);
  EXPECT_EQ(why_not_readable(folder.path("none")), ENOENT);
  EXPECT_TRUE(is_writable_folder(folder.path("")));
  EXPECT_FALSE(is_writable_folder(folder.path("none")));
  if (geteuid() == 0) return;  // whom no mode stops
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  EXPECT_EQ(why_not_readable(file), EACCES);
}

TEST(FileFacts, FilesAreRemovedWhereTheyWereFound) {
  const TemporaryFolder folder;
  const std::string file = folder.write("real/file", "x");
  ASSERT_EQ(symlink("real", folder.path("link").c_str()), 0);
  EXPECT_NE(remove_file(folder.path("link/file")), 0);
  EXPECT_TRUE(std::filesystem::exists(file));
  remove_empty_folder(folder.path("real"));  // it is not
  EXPECT_TRUE(std::filesystem::exists(file));
  EXPECT_EQ(remove_file(file), 0);
  EXPECT_EQ(remove_file(file), ENOENT);
  remove_empty_folder(folder.path("real"));
  EXPECT_FALSE(std::filesystem::exists(folder.path("real")));
}

TEST(FileFacts, OfFolders) {
  const TemporaryFolder folder;
  FolderFacts facts;
  ASSERT_EQ(read_folder_facts(folder.path(""), &facts), 0);
  EXPECT_TRUE(facts.is_folder);
  EXPECT_FALSE(facts.is_read_only);
  EXPECT_GT(facts.free_bytes, 0u);
  EXPECT_EQ(try_to_write_in(folder.path("")), 0);
  EXPECT_EQ(folder.entries(), 0u);
  FolderFacts of_file;
  ASSERT_EQ(read_folder_facts(folder.write("file", "x"), &of_file), 0);
  EXPECT_FALSE(of_file.is_folder);
  EXPECT_EQ(read_folder_facts(folder.path("none"), &facts), ENOENT);
  EXPECT_EQ(try_to_write_in(folder.path("none")), ENOENT);
}

}  // namespace
}  // namespace memprof::cli
