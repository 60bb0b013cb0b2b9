// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/leaks_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "profile/series/series_file.h"
#include "profile/text/markup/json_text.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_tools::memprof;

// 640 blocks of 4,096 bytes, evenly over the first `parts` of 16 minutes.
profile::Profile kept_profile(uint32_t parts) {
  profile::Profile profile = testing_tools::small_profile();
  profile.rate_bytes = 0;
  profile.duration_ns = 960'000'000'000;
  profile::Stack& stack = profile.stacks.at(0);
  stack.allocated = {640, 640 * 4096, 640 * 4096, 640, 0, 0, 0, 0};
  stack.live = {{4096, 0, 640}};
  for (uint32_t part = 0; part < parts; ++part) {
    const uint64_t samples = 640 / parts;
    stack.births.push_back(
        {part, samples, static_cast<double>(samples * 4096), static_cast<double>(samples)});
  }
  profile.stacks.resize(1);
  return profile;
}

class LeaksCommand : public ::testing::Test {
 protected:
  LeaksCommand() : leak_(folder_ / "leak.pb.gz"), filled_(folder_ / "filled.pb.gz") {
    testing_tools::write_file(leak_, profile::write_pprof(kept_profile(16)));
    testing_tools::write_file(filled_, profile::write_pprof(kept_profile(8)));
  }
  testing_tools::Folder folder_;
  std::string leak_;
  std::string filled_;
};

TEST_F(LeaksCommand, StatusTellsWhetherThereIsASuspect) {
  const auto leak = memprof({"leaks", leak_});
  EXPECT_EQ(leak.status, 1);
  EXPECT_EQ(leak.err, "");
  EXPECT_THAT(leak.out, StartsWith("1 suspect among 1 place: 160.0 KiB a minute (95 %: "));
  const auto filled = memprof({"leaks", filled_, "--why"});
  EXPECT_EQ(filled.status, 0);
  EXPECT_THAT(filled.out, StartsWith("No suspect: 1 place holds memory, and none grows on."));
  EXPECT_THAT(filled.out, HasSubstr("grew until 480 s after the start"));
  EXPECT_THAT(memprof({"leaks", "--help"}).out, HasSubstr("usage: memprof leaks FILE...|PID"));
}

TEST_F(LeaksCommand, LimitsDecideWhereThereAreSome) {
  const auto below = memprof({"leaks", leak_, "--fail-on", "growth > 1MB", "--fail-on", "row > 200k"});
  EXPECT_EQ(below.status, 0);
  EXPECT_THAT(below.err, HasSubstr("pass: growth > 1MB: 160.0 KiB a minute"));
  const auto above = memprof({"leaks", leak_, "--fail-on", "growth > 1MB", "--fail-on", "row > 100k"});
  EXPECT_EQ(above.status, 1);
  EXPECT_THAT(above.err, HasSubstr("FAIL: row > 100k: "));
  EXPECT_EQ(memprof({"leaks", filled_, "--fail-on", "growth > 0"}).status, 0);
}

TEST_F(LeaksCommand, WhatIsExpectedIsNoSuspect) {
  const auto result = memprof({"leaks", leak_, "--expect", "."});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("Expected, and not judged: 2.5 MiB live."));
}

TEST_F(LeaksCommand, PrintsJson) {
  const auto json = profile::json_from_text(memprof({"leaks", "--json", leak_}).out);
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["verdict"], "leak");
  EXPECT_EQ(json["growth_per_minute"]["value"], 160 * 1024);
}

// Looks after each minute of a leak; at the last `freed` of them it has little left.
void write_series(const std::string& path, int looks, int freed) {
  profile::Series facts;
  facts.program = "server";
  profile::SeriesWriter writer(path, facts, profile::SeriesWriter::kMinBytes, profile::IfExists::kReplace);
  for (int i = 1; i <= looks; ++i) {
    profile::Profile profile = kept_profile(16);
    profile::Stack& stack = profile.stacks[0];
    profile.duration_ns = static_cast<uint64_t>(i) * 60'000'000'000;
    profile.time_unix_ns = 1'700'000'000'000'000'000 + profile.duration_ns;
    const uint64_t samples = i > looks - freed ? 1 : static_cast<uint64_t>(i);  // of each part
    for (Birth& birth : stack.births) {
      birth.samples = samples;
      birth.weight_count = static_cast<double>(samples);
      birth.weight_bytes = static_cast<double>(samples * 4096);
    }
    stack.live[0].samples = 16 * samples;
    const auto blocks = static_cast<double>(16 * i);
    stack.allocated = {16 * static_cast<uint64_t>(i),
                       16 * static_cast<uint64_t>(i) * 4096,
                       blocks * 4096,
                       blocks,
                       0,
                       0,
                       0,
                       0};
    writer.add(profile::figures_of(profile, 1), profile);
  }
}

TEST_F(LeaksCommand, LooksOfASeriesCountUntilTheEndOfTheProgram) {
  write_series(folder_ / "x.series", 8, 2);
  const auto text = memprof({"leaks", folder_ / "x.series"});
  EXPECT_EQ(text.status, 1);
  EXPECT_THAT(text.err, HasSubstr("note: " + (folder_ / "x.series") + ": the look of 2023-11-14 "));
  EXPECT_THAT(text.err, HasSubstr(" is judged, with 5 before it; the 2 after it hold less, as at the end"));
  EXPECT_THAT(text.out, HasSubstr("a line through the last looks: 64.0 KiB a minute"));
  EXPECT_THAT(text.out, HasSubstr(" 360 s after its start, the last of 6 looks; "));
  const auto json = profile::json_from_text(memprof({"leaks", "--json", folder_ / "x.series"}).out);
  EXPECT_EQ(json["judged_unix_ns"], 1'700'000'360'000'000'000);
  EXPECT_EQ(json["rows"][0]["slope_per_minute"]["value"], 65536);
  // Many looks are thinned.
  write_series(folder_ / "long.series", 200, 0);
  const auto many = memprof({"leaks", folder_ / "long.series"});
  EXPECT_THAT(many.out, HasSubstr("the last of 24 looks; "));
  EXPECT_THAT(many.err, HasSubstr(" is judged, with 23 before it\n"));
  // One of them is one profile.
  const auto one = memprof({"leaks", folder_ / "x.series@+2m"});
  EXPECT_EQ(one.status, 1);
  EXPECT_THAT(one.out, ::testing::Not(HasSubstr("looks")));
}

TEST_F(LeaksCommand, ErrorsAreOneLineAndStatusTwo) {
  write_series(folder_ / "x.series", 3, 0);
  profile::Profile old = kept_profile(16);
  old.stacks[0].births.clear();
  testing_tools::write_file(folder_ / "old.pb", profile::write_pprof(old));
  profile::Profile other = kept_profile(16);
  other.pid = 17;
  testing_tools::write_file(folder_ / "other.pb", profile::write_pprof(other));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"leaks", "-n", "3"}, "leaks: no profile given"},
      {{"leaks", folder_ / "gone"}, folder_ / "gone"},
      {{"leaks", "-", "-"}, "leaks: standard input can be one profile only"},
      {{"leaks", leak_, folder_ / "x.series"}, "x.series: a series is judged alone; of several, give looks"},
      {{"leaks", leak_, "--metric", "live"}, "leaks: --metric: leaks are of what lives"},
      {{"leaks", leak_, "--younger", "10ms"}, "leaks: --younger: leaks are of what is kept"},
      {{"leaks", leak_, "--expect", "["}, "--expect: '['"},
      {{"leaks", leak_, "--expect", ""}, "--expect: an empty expression"},
      {{"leaks", leak_, "--fail-on", "5MB"}, "--fail-on: '5MB': it has no '>'"},
      {{"leaks", leak_, "--by", "colour"}, "'colour'"},
      {{"leaks", leak_, "-n", "-1"}, "-n: '-1'"},
      {{"leaks", leak_, "--loud"}, "'--loud'"},
      {{"leaks", folder_ / "old.pb"}, "old.pb: does not say when what lives was allocated: an older memprof"},
      {{"leaks", leak_, folder_ / "other.pb"}, "not of one process"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << expected;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(expected));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

}  // namespace
}  // namespace memprof::cli
