// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/output_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::Folder;
using testing_tools::write_file;

std::string problem(const std::string& path, bool may_replace = false) {
  try {
    check_output_path(path, may_replace);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), 2);
    return failure.what();
  }
  return "";
}

TEST(OutputCheck, AFreeNameIsFineAndNothingIsLeftBehind) {
  const Folder folder;
  EXPECT_EQ(problem(folder / "x.pb.gz"), "");
  EXPECT_EQ(folder.list(), "");
}

TEST(OutputCheck, AnExistingFileNeedsForce) {
  const Folder folder;
  write_file(folder / "x", "precious");
  EXPECT_EQ(problem(folder / "x"),
            (folder / "x") + ": file already exists; --force replaces it, -o names another");
  EXPECT_EQ(problem(folder / "x", true), "");
  EXPECT_EQ(testing_tools::read_file(folder / "x"), "precious");
}

TEST(OutputCheck, FoldersThatCannotBeUsed) {
  const Folder folder;
  write_file(folder / "file", "");
  EXPECT_THAT(problem(folder / "gone/x"), HasSubstr("gone: no such file or directory; create it"));
  EXPECT_THAT(problem(folder / "file/x"), HasSubstr("file is not a folder"));
  EXPECT_THAT(problem(folder.path(), true), HasSubstr("is a folder"));
  EXPECT_THAT(problem("/proc/x"), HasSubstr("cannot write in the folder /proc"));
}

TEST(OutputCheck, DevicesAreWrittenToAsTheyAre) {
  EXPECT_EQ(problem("/dev/null"), "");
}

TEST(OutputCheck, OfALinkTheTargetsFolderCounts) {
  const Folder folder;
  const Folder other;
  write_file(other / "target", "");
  std::filesystem::create_symlink(other / "target", folder / "link");
  EXPECT_THAT(problem(folder / "link"), HasSubstr("already exists"));
  EXPECT_EQ(problem(folder / "link", true), "");
}

}  // namespace
}  // namespace memprof::cli
