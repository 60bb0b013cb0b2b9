// SPDX-License-Identifier: Apache-2.0
#include "memprof/view/file_page.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

class FilePageTest : public ::testing::Test {
 protected:
  std::string read() {
    ++reads_;
    std::ostringstream text;
    text << std::ifstream(file_).rdbuf();
    if (text.str() == "broken") throw profile::Error(file_ + ": no profile");
    return text.str();
  }

  const testing_tools::Folder folder_;
  const std::string file_ = folder_ / "p.pb.gz";
  int reads_ = 0;
};

TEST_F(FilePageTest, IsReadOnceWhileItStays) {
  testing_tools::write_file(file_, "first");
  FilePage page(file_, [this] { return read(); });
  EXPECT_EQ(page.page(), "first");
  EXPECT_EQ(page.page(), "first");
  EXPECT_EQ(reads_, 1);
}

TEST_F(FilePageTest, IsReadAnewWhenAnotherFileTakesItsPlace) {
  testing_tools::write_file(file_, "first");
  const auto time = std::filesystem::last_write_time(file_);
  FilePage page(file_, [this] { return read(); });
  // Of the same size and time, as copies have it.
  const std::string other = folder_ / "other";
  testing_tools::write_file(other, "other");
  std::filesystem::last_write_time(other, time);
  std::filesystem::rename(other, file_);
  EXPECT_EQ(page.page(), "other");
  testing_tools::write_file(file_, "longer than before");
  EXPECT_EQ(page.page(), "longer than before");
  EXPECT_EQ(reads_, 3);
}

TEST_F(FilePageTest, StaysWhatItWasWhereTheFileCannotBeRead) {
  testing_tools::write_file(file_, "first");
  FilePage page(file_, [this] { return read(); });
  testing_tools::write_file(file_, "broken");
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(page.page(), "first");
  EXPECT_EQ(page.page(), "first");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "memprof: " + file_ + " has changed, and the page stays as it was: " + file_ + ": no profile\n");
  testing_tools::write_file(file_, "whole again");
  EXPECT_EQ(page.page(), "whole again");
}

}  // namespace
}  // namespace memprof::cli
