// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/memory_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../process.h"

namespace memprof::cli {
namespace {

using testing_tools::fixture;
using testing_tools::read_file;

TEST(MemoryFile, IsFilledAndSealed) {
  const auto pid = static_cast<uint64_t>(getpid());
  const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(fill_memory_file(pid, fd, fixture("program")), "");
  EXPECT_EQ(read_file("/proc/self/fd/" + std::to_string(fd)), read_file(fixture("program")));
  EXPECT_EQ(pwrite(fd, "x", 1, 0), -1);
  EXPECT_EQ(fcntl(fd, F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
  close(fd);
}

TEST(MemoryFile, SaysWhatIsWrong) {
  const auto pid = static_cast<uint64_t>(getpid());
  EXPECT_NE(fill_memory_file(pid, 9999, fixture("program")).find("cannot be opened"), std::string::npos);
  const int fd = memfd_create("test", MFD_CLOEXEC);  // that cannot be sealed
  EXPECT_NE(fill_memory_file(pid, fd, "/nowhere").find("/nowhere: cannot read it"), std::string::npos);
  EXPECT_NE(fill_memory_file(pid, fd, fixture("program")).find("could not be copied"), std::string::npos);
  close(fd);
}

TEST(MemoryFile, FilesThatAProcessSees) {
  const auto pid = static_cast<uint64_t>(getpid());
  EXPECT_TRUE(sees_file(pid, fixture("program")));
  EXPECT_FALSE(sees_file(pid, "/nowhere"));
}

}  // namespace
}  // namespace memprof::cli
