// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

#include "platform/files.h"
#include "tests/support/engine.h"
#include "tests/support/file_map.h"
#include "tests/support/folder.h"

namespace memprof::files_test {
namespace {

using testing_support::in_child;
using testing_support::read_file;
using testing_support::TemporaryFolder;

TEST(Files, CreatesNewFilesOnlyForTheirOwner) {
  const TemporaryFolder folder;
  const std::string path = folder.path("a");
  umask(0);
  const int fd = platform::file_create(path.c_str());
  ASSERT_GE(fd, 0);
  EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
  struct stat s{};
  ASSERT_EQ(0, fstat(fd, &s));
  EXPECT_EQ(0600u, s.st_mode & 0777);
  EXPECT_EQ(0, platform::file_write(fd, "hello", 5));
  EXPECT_EQ(0, platform::file_close(fd));
  EXPECT_EQ("hello", read_file(path));
  EXPECT_EQ(platform::kFileExists, platform::file_create(path.c_str()));
  EXPECT_EQ(-ENOENT, platform::file_create(folder.path("no/a").c_str()));
  EXPECT_EQ(-ENOTDIR, platform::file_create((path + "/a").c_str()));
}

TEST(Files, OpensRegularFilesOnly) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "hello");
  uint64_t size = 0;
  const int fd = platform::file_open(path.c_str(), &size);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(5u, size);
  EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
  EXPECT_EQ(0, platform::file_close(fd));
  EXPECT_EQ(-ENOENT, platform::file_open(folder.path("none").c_str(), &size));
  EXPECT_EQ(-EINVAL, platform::file_open(folder.path("").c_str(), &size));
  std::filesystem::create_symlink(path, folder.path("link"));
  EXPECT_EQ(-EINVAL, platform::file_open(folder.path("link").c_str(), &size));
  ASSERT_EQ(0, mkfifo(folder.path("fifo").c_str(), 0600));
  EXPECT_EQ(-EINVAL, platform::file_open(folder.path("fifo").c_str(), &size)) << "nor does it wait";
  EXPECT_EQ(-EINVAL, platform::file_open("/dev/null", &size));
}

TEST(Files, MapsWhatIsItsOwnUsersAndOfTheSize) {
  testing_support::check_file_map();
}

TEST(Files, ReadsAllOrNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a", "hello");
  uint64_t size = 0;
  const int fd = platform::file_open(path.c_str(), &size);
  ASSERT_GE(fd, 0);
  char text[8] = {};
  EXPECT_TRUE(platform::file_read(fd, 1, text, 4));
  EXPECT_STREQ("ello", text);
  EXPECT_FALSE(platform::file_read(fd, 1, text, 5));
  EXPECT_FALSE(platform::file_read(fd, 100, text, 1));
  EXPECT_TRUE(platform::file_read(fd, 100, text, 0));
  EXPECT_EQ(0, platform::file_close(fd));
  EXPECT_FALSE(platform::file_read(fd, 0, text, 1));
}

// Where the folders of the tests and of arenas are.
TEST(Files, KnowsWhatOfAFileHasMemory) {
  for (const std::string& parent :
       {std::filesystem::temp_directory_path().string(), std::string("/dev/shm")}) {
    std::string path = parent + "/memprof-test-XXXXXX";
    const int made = mkstemp(path.data());
    ASSERT_GE(made, 0) << path;
    EXPECT_EQ(0, ftruncate(made, 1 << 20));
    const std::string data(65536, 'x');
    EXPECT_EQ(65536, pwrite(made, data.data(), data.size(), 131072));
    EXPECT_EQ(0u, platform::file_data_end(made, 0)) << parent;
    EXPECT_EQ(196608u, platform::file_data_end(made, 131072)) << parent;
    EXPECT_EQ(196608u, platform::file_data_end(made, 135168)) << parent;
    EXPECT_EQ(196608u, platform::file_data_end(made, 196608)) << parent;
    EXPECT_EQ(uint64_t{1} << 30, platform::file_data_end(made, 1 << 30)) << parent << ": behind its end";
    close(made);
    unlink(path.c_str());
  }
}

TEST(Files, WritesAllOfItAlsoInPieces) {
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  std::string sent(1 << 20, 'x');
  for (size_t i = 0; i < sent.size(); ++i) {
    sent[i] = static_cast<char>('a' + i % 26);
  }
  std::string got;
  std::thread reader([&] {
    char buffer[1000];
    for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
      got.append(buffer, static_cast<size_t>(n));
    }
  });
  EXPECT_EQ(0, platform::file_write(ends[1], sent.data(), sent.size()));  // more than a pipe holds
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(sent, got);
  EXPECT_EQ(0, platform::file_write(-1, "", 0));
}

TEST(Files, ErrorsOfWritesAreReported) {
  EXPECT_EQ(-EBADF, platform::file_write(-1, "x", 1));
  EXPECT_EQ(-EBADF, platform::file_close(-1));
  const int full = open("/dev/full", O_WRONLY);
  if (full >= 0) {
    EXPECT_EQ(-ENOSPC, platform::file_write(full, "x", 1));
    close(full);
  }
}

TEST(Files, AWriteNeverEndsTheProgramBySignal) {
  in_child([] {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    close(ends[0]);
    EXPECT_EQ(-EPIPE, platform::file_write(ends[1], "x", 1));
    const TemporaryFolder folder;
    const rlimit limit{10, 10};
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
    const int fd = platform::file_create(folder.path("a").c_str());
    EXPECT_EQ(-EFBIG, platform::file_write(fd, "0123456789abcdef", 16));
    const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &none);
  });
}

TEST(Files, RenamesOverAndNotOver) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a", "A");
  const std::string b = folder.write("b", "B");
  EXPECT_EQ(platform::kFileExists, platform::file_rename(a.c_str(), b.c_str(), false));
  EXPECT_EQ("A", read_file(a));
  EXPECT_EQ("B", read_file(b));
  EXPECT_EQ(0, platform::file_rename(a.c_str(), folder.path("c").c_str(), false));
  EXPECT_FALSE(platform::file_exists(a.c_str()));
  EXPECT_EQ("A", read_file(folder.path("c")));
  EXPECT_EQ(0, platform::file_rename(folder.path("c").c_str(), b.c_str(), true));
  EXPECT_EQ("A", read_file(b));
  EXPECT_EQ(-ENOENT, platform::file_rename(a.c_str(), b.c_str(), true));
  EXPECT_EQ(-ENOENT, platform::file_rename(a.c_str(), folder.path("d").c_str(), false));
  // A link to nothing is a name that is taken.
  ASSERT_EQ(0, symlink("/nonexistent", folder.path("dangling").c_str()));
  EXPECT_EQ(platform::kFileExists, platform::file_rename(b.c_str(), folder.path("dangling").c_str(), false));
}

TEST(Files, ExistsIsTrueOfWhatIsThereOnly) {
  const TemporaryFolder folder;
  const std::string a = folder.write("a", "A");
  EXPECT_TRUE(platform::file_exists(a.c_str()));
  EXPECT_TRUE(platform::file_exists(folder.path("").c_str()));
  EXPECT_FALSE(platform::file_exists(folder.path("b").c_str()));
  EXPECT_FALSE(platform::file_exists((a + "/b").c_str()));  // a is no folder: the create says so
  EXPECT_FALSE(platform::file_exists(std::string(5000, 'x').c_str()));
  platform::file_remove(a.c_str());
  EXPECT_FALSE(platform::file_exists(a.c_str()));
  platform::file_remove(a.c_str());  // of what is not there: nothing
}

}  // namespace
}  // namespace memprof::files_test
