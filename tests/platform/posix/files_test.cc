// SPDX-License-Identifier: Apache-2.0
#include "platform/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/support/file_map.h"
#include "tests/support/folder.h"

namespace memprof::posix_files_test {
namespace {

using testing_support::read_file;
using testing_support::TemporaryFolder;

TEST(PosixFiles, AreNewAndWrittenWhole) {
  const TemporaryFolder folder;
  const std::string path = folder.path("new");
  const int fd = platform::file_create(path.c_str());
  ASSERT_GE(fd, 0);
  struct stat status{};
  ASSERT_EQ(0, stat(path.c_str(), &status));
  EXPECT_EQ(0u, status.st_mode & 077u);
  const std::string text(300000, 'x');
  EXPECT_EQ(0, platform::file_write(fd, text.data(), text.size()));
  EXPECT_EQ(0, platform::file_close(fd));
  EXPECT_EQ(text, read_file(path));
  EXPECT_EQ(-EEXIST, platform::file_create(path.c_str()));
  EXPECT_EQ(-ENOENT, platform::file_create(folder.path("no/file").c_str()));
  EXPECT_EQ(-EBADF, platform::file_write(-1, "x", 1));
  EXPECT_EQ(-EBADF, platform::file_close(-1));
}

TEST(PosixFiles, OnlyRegularOnesAreReadAndAllOrNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.write("file", "0123456789");
  uint64_t size_bytes = 0;
  const int fd = platform::file_open(path.c_str(), &size_bytes);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(10u, size_bytes);
  char bytes[4];
  EXPECT_TRUE(platform::file_read(fd, 6, bytes, 4));
  EXPECT_EQ("6789", std::string(bytes, 4));
  EXPECT_FALSE(platform::file_read(fd, 7, bytes, 4));
  EXPECT_EQ(10u, platform::file_data_end(fd, 3));
  EXPECT_EQ(12u, platform::file_data_end(fd, 12));
  platform::file_close(fd);
  const std::string link = folder.path("link");
  ASSERT_EQ(0, symlink(path.c_str(), link.c_str()));
  ASSERT_EQ(0, mkfifo(folder.path("pipe").c_str(), 0600));
  EXPECT_EQ(-EINVAL, platform::file_open(link.c_str(), &size_bytes));
  EXPECT_EQ(-EINVAL, platform::file_open(folder.path("pipe").c_str(), &size_bytes));
  EXPECT_EQ(-EINVAL, platform::file_open("/dev/null", &size_bytes));
  EXPECT_EQ(-ENOENT, platform::file_open(folder.path("none").c_str(), &size_bytes));
}

TEST(PosixFiles, MapsWhatIsItsOwnUsersAndOfTheSize) {
  testing_support::check_file_map();
}

TEST(PosixFiles, AreRenamedOverAndNotOver) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a", "A");
  const std::string b = folder.write("b", "B");
  EXPECT_EQ(platform::kFileExists, platform::file_rename(a.c_str(), b.c_str(), false));
  EXPECT_EQ("B", read_file(b));
  EXPECT_EQ(0, platform::file_rename(a.c_str(), b.c_str(), true));
  EXPECT_EQ("A", read_file(b));
  EXPECT_EQ(0, platform::file_rename(b.c_str(), a.c_str(), false));
  EXPECT_TRUE(platform::file_exists(a.c_str()));
  EXPECT_FALSE(platform::file_exists(b.c_str()));
  EXPECT_EQ(-ENOENT, platform::file_rename(b.c_str(), folder.path("c").c_str(), true));
  EXPECT_TRUE(platform::file_remove(a.c_str()));
  EXPECT_FALSE(platform::file_remove(a.c_str()));
}

}  // namespace
}  // namespace memprof::posix_files_test
