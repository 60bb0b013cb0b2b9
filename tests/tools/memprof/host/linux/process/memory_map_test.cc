// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/memory_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(MemoryMap, HasFilesWithTheirInodes) {
  const testing_tools::Folder folder;
  const std::string path = folder / "a b";
  testing_tools::write_file(path, std::string(4096, 'x'));
  const int fd = open(path.c_str(), O_RDONLY);
  void* pages = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  int found = 0;
  int code = 0;
  EXPECT_EQ(visit_mapped_files(static_cast<uint64_t>(getpid()),
                               [&](const MappedFile& mapped) {
                                 code += mapped.is_code ? 1 : 0;
                                 if (mapped.path != path) return false;
                                 ++found;
                                 EXPECT_EQ(mapped.inode, status.st_ino);
                                 EXPECT_EQ(mapped.device_major, major(status.st_dev));
                                 EXPECT_EQ(mapped.device_minor, minor(status.st_dev));
                                 EXPECT_FALSE(mapped.is_code);
                                 EXPECT_TRUE(is_mapped_file(mapped, status));
                                 struct stat other = status;
                                 ++other.st_ino;
                                 EXPECT_FALSE(is_mapped_file(mapped, other));
                                 // Of a file system with several devices inside.
                                 other = status;
                                 other.st_dev = makedev(0, 77);
                                 EXPECT_TRUE(is_mapped_file(mapped, other));
                                 other.st_dev = makedev(major(status.st_dev) + 1, 0);
                                 EXPECT_FALSE(is_mapped_file(mapped, other));
                                 // lstat: it is a link, whoever may follow it.
                                 EXPECT_EQ(lstat(mapped.exact.c_str(), &other), 0) << mapped.exact;
                                 EXPECT_TRUE(S_ISLNK(other.st_mode));
                                 return false;
                               }),
            0);
  EXPECT_EQ(found, 1);
  EXPECT_GT(code, 1);  // this program, the C library
  munmap(pages, 4096);
}

TEST(MemoryMap, TheVisitorEndsIt) {
  int visited = 0;
  EXPECT_EQ(
      visit_mapped_files(static_cast<uint64_t>(getpid()), [&](const MappedFile&) { return ++visited == 2; }),
      0);
  EXPECT_EQ(visited, 2);
}

TEST(MemoryMap, OfWhatIsNotThere) {
  const auto nothing = [](const MappedFile&) { return false; };
  EXPECT_EQ(visit_mapped_files(2147483647, nothing), ENOENT);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(visit_mapped_files(static_cast<uint64_t>(child), nothing), ESRCH);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace memprof::cli
