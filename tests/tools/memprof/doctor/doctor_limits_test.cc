// SPDX-License-Identifier: Apache-2.0
// That kArenaBytes is enough for what a process really has: tests/e2e/doctor_test.py.
#include "memprof/doctor/doctor_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing_tools::Folder;

constexpr uint64_t kMib = uint64_t{1} << 20;

Check file_size(uint64_t limit_bytes) {
  Checks checks;
  check_file_size(limit_bytes, &checks);
  return checks.all().at(0);
}

Check address_space(uint64_t limit_bytes, Whose whose) {
  Checks checks;
  check_address_space(limit_bytes, whose, &checks);
  return checks.all().at(0);
}

Check arena_folder(const std::string& path, Try is_tried = Try::kYes) {
  Checks checks;
  check_arena_folder(path, path, is_tried, &checks);
  EXPECT_EQ(checks.all().size(), 1u);
  return checks.all().at(0);
}

TEST(DoctorLimits, TheTablesOfAProcessTakeA64thOfItsGroups) {
  const auto said = [](uint64_t limit) {
    Checks checks;
    check_group_memory(limit, &checks);
    EXPECT_EQ(checks.all().back().verdict, Verdict::kYes);
    return checks.all().back().found;
  };
  EXPECT_THAT(said(kUnlimited), HasSubstr("no limit on the memory of this group"));
  EXPECT_THAT(said(uint64_t{512} << 20),
              HasSubstr("may have 512.0 MiB, a process's tables stay within 8.0 MiB of it"));
  EXPECT_THAT(said(uint64_t{64} << 20), HasSubstr("within 4.0 MiB of it"));
  EXPECT_THAT(said(uint64_t{1} << 50), HasSubstr("within 296.0 MiB of it"));
}

TEST(DoctorLimits, SizesOfFiles) {
  EXPECT_EQ(file_size(kUnlimited).verdict, Verdict::kYes);
  EXPECT_EQ(file_size(kArenaBytes).verdict, Verdict::kYes);
  const Check less = file_size(kArenaBytes - 1);
  EXPECT_EQ(less.verdict, Verdict::kNote);
  EXPECT_THAT(less.found, HasSubstr("private memory"));
  EXPECT_THAT(less.to_do, HasSubstr("ulimit -f"));
  EXPECT_EQ(file_size(kMib / 4).verdict, Verdict::kNote);
  EXPECT_EQ(file_size(kMib / 4 - 1).verdict, Verdict::kNo);
  EXPECT_EQ(file_size(0).verdict, Verdict::kNo);
}

TEST(DoctorLimits, AddressSpace) {
  EXPECT_EQ(address_space(kUnlimited, Whose::kShell).verdict, Verdict::kYes);
  EXPECT_EQ(address_space(kArenaBytes * 5, Whose::kShell).verdict, Verdict::kYes);
  EXPECT_EQ(address_space(kArenaBytes, Whose::kShell).verdict, Verdict::kNote);
  const Check shell = address_space(95 * kMib, Whose::kShell);
  EXPECT_EQ(shell.verdict, Verdict::kNo);
  EXPECT_THAT(shell.to_do, HasSubstr("ulimit -v"));
  // The process has less room; who reads it has no such limit.
  EXPECT_EQ(address_space(50 * kMib, Whose::kProcess).verdict, Verdict::kNote);
}

TEST(DoctorLimits, AFolderThatCanBeWrittenStaysAsItWas) {
  const Folder folder;
  const Check check = arena_folder(folder.path());
  EXPECT_NE(check.verdict, Verdict::kNo);
  EXPECT_THAT(check.found, HasSubstr(folder.path()));
  EXPECT_EQ(folder.list(), "");
}

TEST(DoctorLimits, FoldersThatCannotBeWritten) {
  const Folder folder;
  const Check absent = arena_folder(folder / "absent");
  EXPECT_EQ(absent.verdict, Verdict::kNote);
  EXPECT_THAT(absent.found, HasSubstr("absent: no such file"));
  EXPECT_THAT(absent.found, HasSubstr("private memory"));
  testing_tools::write_file(folder / "file", "x");
  EXPECT_THAT(arena_folder(folder / "file").found, HasSubstr("is not a folder"));
  EXPECT_THAT(arena_folder("").found, HasSubstr("MEMPROF_ARENA_DIR is empty"));
  // procfs takes no file, whoever asks.
  const Check refused = arena_folder("/proc");
  EXPECT_EQ(refused.verdict, Verdict::kNote);
  EXPECT_THAT(refused.found, HasSubstr("/proc cannot be written"));
  EXPECT_THAT(refused.to_do, HasSubstr("MEMPROF_ARENA_DIR"));
}

TEST(DoctorLimits, AFullFileSystem) {
  const Check check = arena_folder("/proc", Try::kNo);  // has no blocks at all
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, AnyOf(HasSubstr("only 0 B free"), HasSubstr("read-only file system")));
}

TEST(DoctorLimits, OfAnotherProcessNothingIsWritten) {
  const Folder folder;
  struct stat before{};
  ASSERT_EQ(stat(folder.path().c_str(), &before), 0);
  arena_folder(folder.path(), Try::kNo);
  struct stat after{};
  ASSERT_EQ(stat(folder.path().c_str(), &after), 0);
  EXPECT_EQ(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
  EXPECT_EQ(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
}

}  // namespace
}  // namespace memprof::cli
