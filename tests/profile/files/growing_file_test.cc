// SPDX-License-Identifier: Apache-2.0
#include "profile/files/growing_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace memprof::profile {
namespace {

class GrowingFileTest : public ::testing::Test {
 protected:
  GrowingFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "growing-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~GrowingFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/file"; }
  std::string content() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string folder_;
};

TEST_F(GrowingFileTest, GrowsAndIsReplaced) {
  GrowingFile file(path(), "begin ", IfExists::kRefuse);
  file.append("one ");
  file.append("two");
  EXPECT_EQ(content(), "begin one two");
  EXPECT_EQ(file.size(), 13u);
  file.replace("new ");
  file.append("three");
  EXPECT_EQ(content(), "new three");
  EXPECT_EQ(file.size(), 9u);
}

TEST_F(GrowingFileTest, OthersCanTellWhetherItGrows) {
  EXPECT_FALSE(is_growing(path())) << "there is none";
  {
    GrowingFile file(path(), "one", IfExists::kRefuse);
    EXPECT_TRUE(is_growing(path()));
    file.append("two");
    file.replace("three");
    EXPECT_TRUE(is_growing(path())) << "what was put in its place grows, too";
  }
  EXPECT_FALSE(is_growing(path()));
}

TEST_F(GrowingFileTest, IsNotPutInThePlaceOfAnother) {
  std::ofstream(path()) << "mine";
  EXPECT_THROW(GrowingFile(path(), "x", IfExists::kRefuse), Error);
  EXPECT_EQ(content(), "mine");
  const GrowingFile file(path(), "x", IfExists::kReplace);
  EXPECT_EQ(content(), "x");
}

TEST_F(GrowingFileTest, APieceThatDoesNotFitLeavesNothingBehind) {
  const auto before = signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  GrowingFile file(path(), "begin", IfExists::kRefuse);
  rlimit small = old;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(file.append(std::string(2000, 'x')), Error);
  EXPECT_EQ(content(), "begin");
  file.append("!");
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, before);
  EXPECT_EQ(content(), "begin!");
}

}  // namespace
}  // namespace memprof::profile
