// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/merge_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/estimate.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::memprof;
using testing_tools::read_file;
using testing_tools::write_file;

class MergeCommand : public ::testing::Test {
 protected:
  MergeCommand() : out_(folder_ / "all.pb.gz") {
    for (const char* name : {"a", "b", "c"}) write_file(folder_ / name, profile::write_pprof(profile_));
    write_file(folder_ / "cut", profile::write_pprof(profile_).substr(0, 60));
  }
  testing_tools::Folder folder_;
  profile::Profile profile_ = testing_tools::small_profile();
  std::string out_;
};

TEST_F(MergeCommand, AddsUp) {
  const auto result = memprof({"merge", folder_ / "a", folder_ / "b", folder_ / "c", "-o", out_});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("merged 3 files into " + out_));
  const profile::Profile sum = profile::read_pprof_file(out_);
  ASSERT_EQ(sum.stacks.size(), 1u);
  EXPECT_TRUE(sum.stacks[0].has_statistics);
  EXPECT_EQ(profile::estimated_total(sum, profile::Metric::kInuseSpace), 900);
  EXPECT_EQ(sum.samples, 9u);
}

TEST_F(MergeCommand, ADamagedFileIsNamedOrLeftOut) {
  const auto refused = memprof({"merge", folder_ / "a", folder_ / "cut", "-o", out_});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr(folder_ / "cut: "));
  EXPECT_THAT(refused.err, HasSubstr("--skip-damaged"));
  EXPECT_FALSE(std::filesystem::exists(out_));
  const auto skipped = memprof({"merge", folder_ / "a", folder_ / "cut", "-o", out_, "--skip-damaged"});
  EXPECT_EQ(skipped.status, 0);
  EXPECT_THAT(skipped.err, HasSubstr("left out: " + (folder_ / "cut")));
  EXPECT_THAT(skipped.err, HasSubstr("merged 1 file (1 left out)"));
  const auto none = memprof({"merge", folder_ / "cut", "-o", out_, "--skip-damaged", "--force"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("none of the files is a whole profile"));
}

TEST_F(MergeCommand, OneProcessAtTwoTimesIsSaid) {
  profile_.time_unix_ns = 1'700'000'010'000'000'000;
  profile_.duration_ns = 10'000'000'000;
  write_file(folder_ / "early", profile::write_pprof(profile_));
  profile_.time_unix_ns += 5'000'000'000;
  profile_.duration_ns += 5'000'000'000;
  write_file(folder_ / "late", profile::write_pprof(profile_));
  EXPECT_THAT(memprof({"merge", folder_ / "early", folder_ / "late", "-o", out_}).err,
              HasSubstr("are of one process at two times"));
}

TEST_F(MergeCommand, OtherProgramsAreSaid) {
  profile_.program = "client";
  write_file(folder_ / "client", profile::write_pprof(profile_));
  EXPECT_THAT(memprof({"merge", folder_ / "a", folder_ / "client", "-o", out_}).err,
              HasSubstr("warning: the files are of 2 programs: client, server"));
}

TEST_F(MergeCommand, ErrorsAreOneLineAndStatusTwo) {
  profile_.from_memprof = false;
  profile_.stacks[0].has_statistics = false;
  write_file(folder_ / "foreign", profile::write_pprof(profile_));
  profile_.has_metric = {true, true, false, false};
  write_file(folder_ / "allocated", profile::write_pprof(profile_));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"merge", "-o", out_}, "no profiles given"},
      {{"merge", folder_ / "a"}, "where to?"},
      {{"merge", folder_ / "gone", "-o", out_, "--skip-damaged"}, folder_ / "gone: cannot read it"},
      {{"merge", folder_ / "a", "-o", folder_ / "a.json"}, "merge writes pprof"},
      {{"merge", folder_ / "a", "-o", folder_ / "none/x.pb"}, "the folder"},
      {{"merge", folder_ / "a", folder_ / "foreign", "-o", out_}, "foreign: not written by memprof"},
      {{"merge", folder_ / "foreign", folder_ / "a", "-o", out_}, "foreign: not written by memprof"},
      {{"merge", folder_ / "foreign", folder_ / "allocated", "-o", out_}, "allocated: has other metrics"},
  };
  for (const auto& [arguments, text] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(out_));
  }
  write_file(out_, "mine");
  EXPECT_THAT(memprof({"merge", folder_ / "a", "-o", out_}).err, HasSubstr("already exists"));
  EXPECT_EQ(read_file(out_), "mine");
}

}  // namespace
}  // namespace memprof::cli
