// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

TEST(MemoryFile, IsAFileOfNobodyElse) {
  const int file = make_memory_file();
  ASSERT_GE(file, 0);
  EXPECT_NE(0, fcntl(file, F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ(3, write(file, "abc", 3));
  struct stat status{};
  ASSERT_EQ(0, fstat(file, &status));
  EXPECT_EQ(3, status.st_size);
  EXPECT_EQ(0u, status.st_nlink) << "no folder has it";
  const int other = make_memory_file();
  ASSERT_EQ(0, fstat(other, &status));
  EXPECT_EQ(0, status.st_size);
  close(other);
  close(file);
}

}  // namespace
}  // namespace memprof::cli
