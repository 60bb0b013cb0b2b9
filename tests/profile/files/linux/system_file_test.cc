// SPDX-License-Identifier: Apache-2.0
#include "profile/files/system_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tests/support/folder.h"

namespace memprof::profile::system_file_test {
namespace {

using testing_support::read_file;
using testing_support::TemporaryFolder;

TEST(SystemFile, APlaceIsOpenedWhateverHasItsNameNow) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "first");
  const int place = find_place(path, true);
  ASSERT_GE(place, 0);
  EXPECT_NE(0, fcntl(place, F_GETFD) & FD_CLOEXEC);
  std::filesystem::rename(path, folder.path("b"));
  folder.write("a", "second");
  const int file = open_place(place, O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  char text[8] = "";
  EXPECT_EQ(5, read(file, text, sizeof(text)));
  EXPECT_STREQ("first", text);
  EXPECT_EQ(std::filesystem::canonical(folder.path("b")).string(), path_of_descriptor(file));
  close(file);
  close(place);
}

TEST(SystemFile, AFifoNoticesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path("fifo");
  ASSERT_EQ(0, mkfifo(path.c_str(), 0600));
  const int place = find_place(path, true);  // would wait for a writer, if it opened it
  ASSERT_GE(place, 0);
  struct stat status{};
  EXPECT_EQ(0, fstat(place, &status));
  EXPECT_TRUE(S_ISFIFO(status.st_mode));
  close(place);
}

TEST(SystemFile, LinksAreFollowedWhereAsked) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(folder.write("a", "text"), folder.path("link"));
  struct stat status{};
  for (const bool follows : {false, true}) {
    const int place = find_place(folder.path("link"), follows);
    ASSERT_GE(place, 0);
    EXPECT_EQ(0, fstat(place, &status));
    EXPECT_EQ(follows, S_ISREG(status.st_mode));
    close(place);
  }
  EXPECT_EQ(-1, find_place(folder.path("none"), true));
  EXPECT_EQ(ENOENT, errno);
}

// Another mode is a change of the inode, not of the contents.
TEST(SystemFile, TimesOfAFile) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "text");
  const timespec times[2] = {{1000, 7}, {1000, 7}};
  ASSERT_EQ(0, utimensat(AT_FDCWD, path.c_str(), times, 0));
  struct stat status{};
  ASSERT_EQ(0, stat(path.c_str(), &status));
  EXPECT_EQ(1'000'000'000'007u, written_unix_ns(status));
  EXPECT_GT(changed_unix_ns(status), 1'000'000'000'007u);
  status.st_mtim = {-1, 999'999'999};
  EXPECT_EQ(0u, written_unix_ns(status));
}

TEST(SystemFile, ANewNameReplacesNothing) {
  const TemporaryFolder folder;
  const std::string from = folder.write("from", "new");
  const std::string to = folder.write("to", "old");
  const int result = rename_to_new_name(from.c_str(), to.c_str());
  if (result == EINVAL || result == ENOSYS) GTEST_SKIP() << "the file system cannot";
  EXPECT_EQ(EEXIST, result);
  EXPECT_EQ("old", read_file(to));
  EXPECT_EQ(0, rename_to_new_name(from.c_str(), folder.path("other").c_str()));
  EXPECT_EQ("new", read_file(folder.path("other")));
}

TEST(SystemFile, ThisProgramIsAFile) {
  struct stat status{};
  ASSERT_TRUE(find_own_program(&status));
  EXPECT_TRUE(S_ISREG(status.st_mode));
  EXPECT_GT(status.st_size, 10'000);
}

}  // namespace
}  // namespace memprof::profile::system_file_test
