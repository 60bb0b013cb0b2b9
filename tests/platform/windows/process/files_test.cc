// SPDX-License-Identifier: Apache-2.0
#include "platform/files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "platform/process.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

// Of a run that was killed there may be one: ids of processes come again.
std::string path_of(const std::string& name) {
  const std::string path = std::string(arena_folder()) + "/" + name + std::to_string(process_id());
  file_remove(path.c_str());
  return path;
}

TEST(WindowsFiles, AreWrittenReadRenamedAndRemoved) {
  const std::string path = path_of("a\xc3\xa9\xe2\x82\xac");
  const std::string other = path_of("b");
  const int made = file_create(path.c_str());
  ASSERT_GE(made, 0);
  EXPECT_EQ(file_create(path.c_str()), kFileExists);
  EXPECT_EQ(file_write(made, "0123456789", 10), 0);
  EXPECT_EQ(file_close(made), 0);
  uint64_t size = 0;
  const int opened = file_open(path.c_str(), &size);
  ASSERT_GE(opened, 0);
  EXPECT_EQ(size, 10u);
  char text[4] = {};
  EXPECT_TRUE(file_read(opened, 3, text, 3));
  EXPECT_STREQ(text, "345");
  EXPECT_FALSE(file_read(opened, 8, text, 3));
  EXPECT_EQ(file_data_end(opened, 4), 10u);
  EXPECT_EQ(file_close(opened), 0);
  EXPECT_EQ(file_rename(path.c_str(), other.c_str(), false), 0);
  EXPECT_FALSE(file_exists(path.c_str()));
  const int again = file_create(path.c_str());
  EXPECT_EQ(file_close(again), 0);
  EXPECT_EQ(file_rename(path.c_str(), other.c_str(), false), kFileExists);
  EXPECT_EQ(file_rename(path.c_str(), other.c_str(), true), 0);
  EXPECT_TRUE(file_remove(other.c_str()));
  EXPECT_FALSE(file_remove(other.c_str()));
}

TEST(WindowsFiles, FoldersAreNoFiles) {
  uint64_t size = 0;
  EXPECT_LT(file_open(arena_folder(), &size), 0);
  EXPECT_LT(file_open(path_of("nowhere").c_str(), &size), 0);
  EXPECT_LT(file_create((path_of("nowhere") + "/x").c_str()), 0);
}

TEST(WindowsFiles, LongPathsAreFiles) {
  const std::string name = path_of(std::string(200, 'x'));
  const int made = file_create(name.c_str());
  ASSERT_GE(made, 0) << name.size();
  EXPECT_EQ(file_close(made), 0);
  EXPECT_TRUE(file_exists(name.c_str()));
  EXPECT_TRUE(file_remove(name.c_str()));
}

TEST(WindowsFiles, AreShared) {
  const std::string path = path_of("shared");
  const int made = file_create(path.c_str());
  const std::string page(4096, '\0');
  ASSERT_EQ(file_write(made, page.data(), page.size()), 0);
  ASSERT_EQ(file_close(made), 0);
  EXPECT_EQ(file_map(path.c_str(), 8192), nullptr);
  auto* one = static_cast<char*>(file_map(path.c_str(), 4096));
  auto* two = static_cast<char*>(file_map(path.c_str(), 4096));
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  one[100] = 'x';
  EXPECT_EQ(two[100], 'x');
  UnmapViewOfFile(one);
  UnmapViewOfFile(two);
  EXPECT_TRUE(file_remove(path.c_str()));
}

}  // namespace
}  // namespace memprof::platform
