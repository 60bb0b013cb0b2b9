// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/run_tally_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "format/files/run_tally.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::Folder;

TEST(RunTallyFile, HasWhatProcessesNote) {
  const Folder folder;
  const RunTallyFile file(folder.path(), 7);
  EXPECT_EQ(file.processes(), 0u);
  const std::string path = folder / kRunTallyName;
  struct stat status{};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(status.st_size, static_cast<off_t>(sizeof(RunTally)));
  EXPECT_GE(status.st_blocks * 512, static_cast<blkcnt_t>(sizeof(RunTally)))
      << "a page that is not there is fatal";
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* const start = mmap(nullptr, sizeof(RunTally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  ASSERT_NE(start, MAP_FAILED);
  auto* const tally = static_cast<RunTally*>(start);
  EXPECT_EQ(tally->magic, RunTally::kMagic);
  EXPECT_EQ(tally->run_token, 7u);
  tally->note(12, 500);
  tally->note(13, 501);
  EXPECT_EQ(file.processes(), 2u);
  EXPECT_EQ(file.tally()->processes.load(), 2u);
  EXPECT_TRUE(file.has(13, 501));
  EXPECT_FALSE(file.has(13, 902));
  munmap(start, sizeof(RunTally));
}

TEST(RunTallyFile, WhereThereCanBeNoneNobodyIsCounted) {
  const Folder folder;
  testing_tools::write_file(folder / kRunTallyName, "mine");
  const RunTallyFile there(folder.path(), 7);
  EXPECT_EQ(there.processes(), 0u);
  EXPECT_FALSE(there.has(1, 1));
  EXPECT_EQ(std::filesystem::file_size(folder / kRunTallyName), 4u);
  EXPECT_EQ(there.tally(), nullptr);
  EXPECT_EQ(RunTallyFile("", 7).processes(), 0u);
  EXPECT_EQ(RunTallyFile(folder / "none", 7).processes(), 0u);
}

}  // namespace
}  // namespace memprof::cli
