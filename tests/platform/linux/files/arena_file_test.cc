// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "platform/files.h"
#include "platform/linux/files/arena_file.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "tests/support/engine.h"

namespace memprof::arena_file_test {
namespace {

using testing_support::in_child;

class ArenaFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string("/tmp/memprof-test-XXXXXX");
    ASSERT_NE(nullptr, mkdtemp(folder_.data()));
    path_ = folder_ + "/a.arena";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // A file of one piece.
  static uint8_t* reserve(const char* path, size_t size_bytes) {
    const platform::Piece whole{0, size_bytes};
    return static_cast<uint8_t*>(platform::map_pieces(path, size_bytes, &whole, 1));
  }
  static void release(uint8_t* pages, size_t size_bytes) {
    const platform::Piece whole{0, size_bytes};
    platform::unmap_pieces(pages, size_bytes, &whole, 1);
  }

  static int open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<int>(std::distance(begin(files), end(files)));
  }

  std::string folder_;
  std::string path_;
};

TEST_F(ArenaFile, WhatOneProcessWritesAnotherReads) {
  const int files_before = open_files();
  const mode_t mask = umask(0777);
  uint8_t* pages = reserve(path_.c_str(), 1 << 20);
  umask(mask);
  ASSERT_NE(nullptr, pages);
  EXPECT_EQ(files_before, open_files());
  struct stat status{};
  ASSERT_EQ(0, stat(path_.c_str(), &status));
  EXPECT_EQ(0600u, status.st_mode & 07777);
  EXPECT_EQ(1 << 20, status.st_size);
  EXPECT_EQ(0, status.st_blocks);  // nothing has memory yet
  ASSERT_TRUE(platform::commit_pages(pages, 8192));
  ASSERT_EQ(0, stat(path_.c_str(), &status));
  EXPECT_GE(status.st_blocks, 16);
  const pid_t pid = fork();
  if (pid == 0) {
    pages[5000] = 42;
    ::raise(SIGKILL);
  }
  int ended = 0;
  ASSERT_EQ(pid, waitpid(pid, &ended, 0));
  EXPECT_TRUE(WIFSIGNALED(ended));
  uint64_t size = 0;
  const int file = platform::file_open(path_.c_str(), &size);
  ASSERT_GE(file, 0);
  EXPECT_EQ(uint64_t{1} << 20, size);
  EXPECT_EQ(8192u, platform::file_data_end(file, 0));
  uint8_t read = 0;
  EXPECT_TRUE(platform::file_read(file, 5000, &read, 1));
  EXPECT_EQ(42, read);
  EXPECT_EQ(0, platform::file_close(file));
  release(pages, 1 << 20);
}

// As this kernel does it, and as old ones have to.
class CommitPages : public ArenaFile, public ::testing::WithParamInterface<bool (*)(void*, size_t)> {};
INSTANTIATE_TEST_SUITE_P(Ways, CommitPages,
                         ::testing::Values(platform::commit_pages, platform::commit_pages_singly),
                         [](const auto& way) { return way.index == 0 ? "AtOnce" : "Singly"; });

TEST_P(CommitPages, KeepsWhatIsThere) {
  uint8_t* pages = reserve(path_.c_str(), 65536);
  ASSERT_NE(nullptr, pages);
  for (int i = 0; i < 65536; ++i) {
    pages[i] = static_cast<uint8_t>(i * 7);
  }
  ASSERT_TRUE(GetParam()(pages, 65536));
  for (int i = 0; i < 65536; ++i) {
    ASSERT_EQ(static_cast<uint8_t>(i * 7), pages[i]);
  }
  release(pages, 65536);
}

TEST_F(ArenaFile, NothingThatIsThereIsTaken) {
  std::ofstream(path_) << "kept";
  EXPECT_EQ(nullptr, reserve(path_.c_str(), 65536));
  EXPECT_EQ(EEXIST, errno);
  EXPECT_EQ(4u, std::filesystem::file_size(path_));
  const std::string link = folder_ + "/link.arena";
  std::filesystem::create_symlink(folder_ + "/elsewhere", link);
  EXPECT_EQ(nullptr, reserve(link.c_str(), 65536));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere"));
  EXPECT_EQ(nullptr, reserve((folder_ + "/no/such.arena").c_str(), 65536));
}

TEST_F(ArenaFile, ALimitOnFileSizesIsARefusalAndNoSignal) {
  in_child([&] {
    const rlimit limit{1 << 16, 1 << 16};
    ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
    EXPECT_EQ(nullptr, reserve(path_.c_str(), 1 << 20));
    EXPECT_EQ(EFBIG, errno);
    EXPECT_FALSE(std::filesystem::exists(path_));
  });
}

// A touch would be SIGBUS.
TEST_P(CommitPages, AFullFileSystemIsARefusalAndNoSignal) {
  if (mount("none", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) {
    GTEST_SKIP() << "no right to mount a tmpfs";
  }
  uint8_t* pages = reserve(path_.c_str(), 8 << 20);
  ASSERT_NE(nullptr, pages);
  EXPECT_TRUE(GetParam()(pages, 512 << 10));
  pages[(512 << 10) - 1] = 1;
  EXPECT_FALSE(GetParam()(pages + (512 << 10), 4 << 20));
  EXPECT_EQ(1, pages[(512 << 10) - 1]);
  release(pages, 8 << 20);
  ASSERT_EQ(0, umount(folder_.c_str()));
}

TEST_F(ArenaFile, TheFolderIsOneThatCanBeWritten) {
  in_child([&] {
    const std::string folder = platform::arena_folder();
    EXPECT_EQ(0, access(folder.c_str(), W_OK | X_OK)) << folder;
  });
}

}  // namespace
}  // namespace memprof::arena_file_test
