// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <optional>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::Folder;

class TemporaryFolderTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("TMPDIR", parent_.path().c_str(), 1); }
  void TearDown() override { unsetenv("TMPDIR"); }

  Folder parent_;
};

TEST_F(TemporaryFolderTest, IsPrivateAndGoesWithAllThatIsInIt) {
  std::optional<TemporaryFolder> folder(std::in_place);
  struct stat status{};
  ASSERT_EQ(stat(folder->path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
  testing_tools::write_file(folder->path() + "/x", "data");
  EXPECT_NE(parent_.list(), "");
  folder.reset();
  EXPECT_EQ(parent_.list(), "");
}

TEST_F(TemporaryFolderTest, StaysWhenKept) {
  std::string path;
  {
    TemporaryFolder folder;
    folder.keep();
    path = folder.path();
  }
  EXPECT_TRUE(std::filesystem::is_directory(path));
}

TEST_F(TemporaryFolderTest, AParentThatIsNotThereIsNamed) {
  setenv("TMPDIR", "/nowhere/tmp", 1);
  try {
    TemporaryFolder folder;
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("/nowhere/tmp: "), std::string::npos);
  }
}

TEST_F(TemporaryFolderTest, WithoutTheVariableItIsInTheFirstFolderThatCanBeWritten) {
  unsetenv("TMPDIR");
  const TemporaryFolder folder;
  EXPECT_TRUE(std::filesystem::is_directory(folder.path()));
  const bool is_in_tmp = folder.path().compare(0, 13, "/tmp/memprof-") == 0;
  EXPECT_EQ(is_in_tmp, access("/tmp", W_OK | X_OK) == 0) << folder.path();
}

}  // namespace
}  // namespace memprof::cli
