// SPDX-License-Identifier: Apache-2.0
#include "profile/files/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/folder.h"

namespace memprof::profile {
namespace {

int open_it(const std::string& path, Links links = Links::kFollow) {
  struct stat status{};
  return open_regular_file(path, links, &status);
}

TEST(RegularFile, IsOpenedForReading) {
  const testing_support::TemporaryFolder folder;
  folder.write("file", "abc");
  struct stat status{};
  const int fd = open_regular_file(folder.path("file"), Links::kRefuse, &status);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(status.st_size, 3);
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  char text[4] = {};
  EXPECT_EQ(read(fd, text, sizeof(text)), 3);
  EXPECT_STREQ(text, "abc");
  close(fd);
}

TEST(RegularFile, NothingElseIsOpened) {
  const testing_support::TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.path("fifo").c_str(), 0600), 0);
  for (const std::string& path :
       {folder.path("fifo"), folder.path(""), std::string("/dev/null"), std::string("/dev/ptmx")}) {
    EXPECT_EQ(open_it(path), -1) << path;
    EXPECT_EQ(errno, EINVAL) << path;
  }
  EXPECT_EQ(open_it(folder.path("none")), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(RegularFile, LinksAreFollowedWhereThatIsWanted) {
  const testing_support::TemporaryFolder folder;
  folder.write("file", "abc");
  std::filesystem::create_symlink("file", folder.path("link"));
  const int fd = open_it(folder.path("link"), Links::kFollow);
  EXPECT_GE(fd, 0);
  close(fd);
  EXPECT_EQ(open_it(folder.path("link"), Links::kRefuse), -1);
}

TEST(RegularFile, IsReadAtAnOffset) {
  const testing_support::TemporaryFolder folder;
  folder.write("file", "abcdef");
  const int fd = open_it(folder.path("file"));
  ASSERT_GE(fd, 0);
  char text[3] = {};
  EXPECT_TRUE(read_at(fd, 2, text, sizeof(text)));
  EXPECT_EQ(std::string(text, sizeof(text)), "cde");
  EXPECT_TRUE(read_at(fd, 6, text, 0));
  EXPECT_FALSE(read_at(fd, 4, text, sizeof(text))) << "it ends before";
  close(fd);
  EXPECT_FALSE(read_at(fd, 0, text, sizeof(text)));
}

TEST(RegularFile, IsTrustedWhereOnlyItsOwnerAndRootCanWrite) {
  struct stat status{};
  status.st_uid = geteuid();
  status.st_mode = S_IFREG | 0755;
  EXPECT_TRUE(is_trusted(status));
  status.st_uid = 0;
  EXPECT_TRUE(is_trusted(status));
  status.st_mode = S_IFREG | 0775;
  status.st_gid = getegid();
  EXPECT_TRUE(is_trusted(status));
  status.st_gid = getegid() + 1;
  EXPECT_FALSE(is_trusted(status));
  status.st_mode = S_IFREG | 0757;
  EXPECT_FALSE(is_trusted(status));
  status.st_uid = geteuid() + 1;
  status.st_mode = S_IFREG | 0700;
  EXPECT_FALSE(is_trusted(status));
}

}  // namespace
}  // namespace memprof::profile
