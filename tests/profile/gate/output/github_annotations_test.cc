// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/github_annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/profile/gate/gate_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GithubAnnotations : public ::testing::Test {
 protected:
  GithubAnnotations() {
    std::string name = (std::filesystem::temp_directory_path() / "annotations-XXXXXX").string();
    root_ = mkdtemp(name.data());
    std::filesystem::create_directory(root_ / "src");
    std::ofstream(root_ / "src/loop.cc") << "\n";
  }
  ~GithubAnnotations() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_;
};

TEST_F(GithubAnnotations, StandAtTheSiteOrAtTheLimit) {
  const std::string text = github_annotations(gate_fixture::mixed(), root_.string());
  EXPECT_THAT(
      text, HasSubstr("::error file=src/loop.cc,line=6,title=memprof check%3A loop::growth_per_iteration at "
                      "most 1 MB: 966 B an iteration%0A94.3 KiB  remember<int> (src/loop.cc:6)%0A12 B  f\n"));
  EXPECT_THAT(text,
              HasSubstr("::error file=memprof.toml,line=7,title=memprof check%3A loop::site x|y: live"));
  EXPECT_THAT(text,
              HasSubstr("::error file=memprof.toml,line=20,title=memprof check%3A memprof.toml::the program "
                        "failed: exit status 137 (signal 9)\n"));
  EXPECT_THAT(text, HasSubstr("::warning file=memprof.toml,line=4,"));
  EXPECT_THAT(text, Not(HasSubstr("peak")));
}

TEST_F(GithubAnnotations, OnlyFilesOfTheRepositoryAreNamed) {
  GateReport report = gate_fixture::mixed();
  GateSite& site = report.checks[0].results[1].sites[0];
  site.group.file = (root_ / "src/loop.cc").string();
  EXPECT_THAT(github_annotations(report, root_.string()), HasSubstr("file=src/loop.cc,line=6"));
  EXPECT_THAT(github_annotations(report, (root_ / "other").string()), HasSubstr("file=memprof.toml,line=7"));
  site.group.file = "src/none.cc";
  EXPECT_THAT(github_annotations(report, root_.string()), HasSubstr("file=memprof.toml,line=7"));
}

TEST_F(GithubAnnotations, TextIsNoCommand) {
  GateReport report = gate_fixture::mixed();
  report.checks[0].name = "a,b:c%\n::error::x";
  report.checks[0].results[1].what = "100 %\n::stop-commands::x";
  const std::string text = github_annotations(report, root_.string());
  EXPECT_THAT(text, HasSubstr("title=memprof check%3A a%2Cb%3Ac%25"));
  EXPECT_THAT(text, HasSubstr("100 %25"));
  EXPECT_THAT(text, Not(HasSubstr("\n::error::x")));
  EXPECT_THAT(text, Not(HasSubstr("\n::stop")));
}

TEST_F(GithubAnnotations, AreNoneWhereAllPassed) {
  EXPECT_EQ(github_annotations(gate_fixture::good(), root_.string()), "");
}

}  // namespace
}  // namespace memprof::profile
