// SPDX-License-Identifier: Apache-2.0
// Who learns the address when a browser is opened: tests/e2e/view_privacy_test.py.
#include "memprof/serve/redirect_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

mode_t mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

class RedirectFileTest : public ::testing::Test {
 protected:
  RedirectFileTest() { setenv("TMPDIR", parent_.path().c_str(), 1); }
  ~RedirectFileTest() override { unsetenv("TMPDIR"); }

  const testing_tools::Folder parent_;
};

TEST_F(RedirectFileTest, IsForItsUserAlone) {
  const mode_t before = umask(0);
  const RedirectFile file("http://127.0.0.1:1/secret/");
  umask(before);
  EXPECT_EQ(mode_of(file.path()), 0600);
  EXPECT_EQ(mode_of(std::filesystem::path(file.path()).parent_path().string()), 0700);
}

TEST_F(RedirectFileTest, LeadsToTheAddressAndItsPathDoesNotHaveIt) {
  const RedirectFile file("http://127.0.0.1:1/secret/");
  EXPECT_THAT(file.path(), Not(HasSubstr("secret")));
  EXPECT_THAT(testing_tools::read_file(file.path()),
              HasSubstr("http-equiv=\"refresh\" content=\"0;url=http://127.0.0.1:1/secret/\">"));
}

TEST_F(RedirectFileTest, AnAddressIsTextOfAnAttribute) {
  const RedirectFile file("http://x/\"><script>&");
  EXPECT_THAT(testing_tools::read_file(file.path()), Not(HasSubstr("<script>")));
  EXPECT_THAT(testing_tools::read_file(file.path()), HasSubstr("http://x/&quot;&gt;&lt;script&gt;&amp;"));
}

TEST_F(RedirectFileTest, IsGoneInTheEnd) {
  std::optional<RedirectFile> file("http://127.0.0.1:1/");
  EXPECT_NE(parent_.list(), "");
  file.reset();
  EXPECT_EQ(parent_.list(), "");
}

TEST_F(RedirectFileTest, WithoutAFolderItFails) {
  setenv("TMPDIR", (parent_ / "missing").c_str(), 1);
  EXPECT_THROW(RedirectFile("http://127.0.0.1:1/"), Failure);
}

}  // namespace
}  // namespace memprof::cli
