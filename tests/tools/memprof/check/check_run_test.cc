// SPDX-License-Identifier: Apache-2.0
// Real programs are checked in tests/e2e/check_test.py.
#include "memprof/check/check_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/run/kept_signals.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using profile::CheckResult;
using profile::Verdict;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing_tools::fixture;

// Each run leaves the small profile: 300 bytes in three blocks.
class CheckRun : public ::testing::Test {
 protected:
  CheckResult run(const std::string& limits, const CheckRunOptions& options = {}) {
    const profile::LimitFile file = profile::parse_limit_file(limits, "memprof.toml");
    return run_check(file.checks.at(0), options);
  }

  std::string command(const std::string& arguments) const {
    return "command = [\"" + fixture("program") + "\", " + arguments + "]\n";
  }

  testing_tools::Folder folder_;
  const testing_tools::FakeLibrary library_{folder_};
};

TEST_F(CheckRun, RunsAndJudges) {
  const CheckResult good = run("live = 300\n" + command("\"exit\", \"0\""));
  EXPECT_EQ(good.error, "");
  EXPECT_EQ(good.status, 0);
  EXPECT_EQ(good.samples, 3u);
  EXPECT_THAT(good.subject, EndsWith("program exit 0"));
  ASSERT_EQ(good.results.size(), 1u);
  EXPECT_EQ(good.results[0].verdict, Verdict::kPass);
  EXPECT_EQ(run("live = 299\n" + command("\"exit\", \"0\"")).results.at(0).verdict, Verdict::kFail);
}

TEST_F(CheckRun, AProgramThatFailsIsJudgedToo) {
  const CheckResult failed = run("live = 300\n" + command("\"exit\", \"7\""));
  EXPECT_EQ(failed.status, 7);
  EXPECT_EQ(failed.results.size(), 1u);
  // But a second run would tell nothing.
  const CheckResult two =
      run("growth_per_iteration = 1\niterations = [7, 8]\n" + command("\"exit\", \"{n}\""));
  EXPECT_EQ(two.status, 7);
  EXPECT_TRUE(two.results.empty());
}

TEST_F(CheckRun, RunsOnceForEachCount) {
  const CheckResult two = run("name = \"a b\"\ngrowth_per_iteration = 0\niterations = [0, 100]\n" +
                                  command("\"exit\", \"0\", \"{n}\""),
                              {{}, folder_.path(), false, AskServers::kNo, {}});
  EXPECT_EQ(two.error, "");
  EXPECT_THAT(two.kept, ElementsAre(folder_ / "a-b.1.pb.gz", folder_ / "a-b.2.pb.gz"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "a-b.2.pb.gz"));
  EXPECT_EQ(two.results.at(0).verdict, Verdict::kPass);
  EXPECT_THAT(two.subject, EndsWith("exit 0 {n}, n = 0 and 100"));
}

TEST_F(CheckRun, WhatKeepsItFromAVerdictIsSaid) {
  EXPECT_THAT(run("live = 1\ncommand = [\"/nonexistent/program\"]").error, HasSubstr("/nonexistent/program"));
  EXPECT_THAT(run("live = 1\nprofile = \"/nonexistent.pb.gz\"").error, HasSubstr("/nonexistent.pb.gz"));
  EXPECT_THAT(
      run("baseline = \"/nonexistent.pb.gz\"\nfail_on = \"growth > 1\"\n" + command("\"exit\"")).error,
      HasSubstr("/nonexistent.pb.gz"));
  testing::internal::CaptureStderr();
  const CheckResult unseen =
      run("live = 1\ncommand = [\"" + fixture("static_program") + "\", \"exit\", \"0\"]");
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(unseen.error, HasSubstr("nothing was recorded"));
  EXPECT_EQ(unseen.status, 0);
}

TEST_F(CheckRun, ReadsProfiles) {
  const CheckResult file = run("profile = \"" + (folder_ / "fake.pb") + "\"\nlive = 300");
  EXPECT_FALSE(file.status);
  EXPECT_EQ(file.results.at(0).verdict, Verdict::kPass);
  const CheckResult baseline = run("profile = \"" + (folder_ / "fake.pb") + "\"\nbaseline = \"" +
                                   (folder_ / "fake.pb") + "\"\nfail_on = \"growth > 0\"");
  EXPECT_EQ(baseline.results.at(0).verdict, Verdict::kPass);
}

TEST(WithCount, TheCountStandsWhereThePlaceIs) {
  EXPECT_THAT(with_count({"a", "{n}", "-n={n},{n}", "{m}"}, 120),
              ElementsAre("a", "120", "-n=120,120", "{m}"));
}

}  // namespace
}  // namespace memprof::cli
