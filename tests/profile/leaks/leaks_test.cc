// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leaks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "profile/model/error.h"
#include "tests/profile/leaks/simulation.h"

namespace memprof::profile {
namespace {

using leak_simulation::kNever;
using leak_simulation::Simulation;
using ::testing::HasSubstr;

constexpr uint64_t kRate = 512 * 1024;

const LeakRow* row_of(const Leaks& leaks, const std::string& name) {
  for (const LeakRow& row : leaks.rows) {
    if (row.place.name == name) return &row;
  }
  return nullptr;
}

void add_leak(const std::string& site, double per_second, Simulation* s) {
  s->at_random(per_second, 0, s->run_s(), [&](double t) { s->block(site, 1 << 20, t); });
}

TEST(Leaks, suspects_are_ranked_by_growth) {
  Simulation s(600, kRate, 1);
  add_leak("slow", 0.5, &s);
  add_leak("fast", 2, &s);
  for (int i = 0; i < 3000; ++i) s.block("start", 1 << 20, 1);
  const Leaks leaks = find_leaks({{"x", s.profile()}});
  ASSERT_EQ(leaks.rows.size(), 3u);
  EXPECT_EQ(leaks.suspects, 2u);
  EXPECT_EQ(leaks.rows[0].place.name, "fast");
  EXPECT_EQ(leaks.rows[1].place.name, "slow");
  EXPECT_EQ(leaks.rows[2].verdict, LeakVerdict::kStart);
  EXPECT_EQ(leaks.tested, 3u);
  EXPECT_EQ(leaks.numbers[static_cast<size_t>(LeakVerdict::kLeak)], 2u);
  // 120 and 30 MiB a minute; the standard deviations of 1,200 and 300 samples are 3.5 and 1.9 MiB.
  EXPECT_NEAR(leaks.rows[0].growth.bytes_per_minute, 120 << 20, 6 * (3.5 * (1 << 20)));
  EXPECT_NEAR(leaks.growth.bytes_per_minute,
              leaks.rows[0].growth.bytes_per_minute + leaks.rows[1].growth.bytes_per_minute, 1);
  EXPECT_LT(leaks.growth.low, leaks.growth.bytes_per_minute);
  EXPECT_GT(leaks.growth.low, leaks.rows[0].growth.low);
}

// A frame that a runtime executes, as a caller of all that there is.
void call_from(const std::string& name, int64_t line, Profile* profile, size_t stack) {
  Function function;
  function.name = function.system_name = name;
  function.filename = "server.js";
  profile->functions.push_back(function);
  Location location;
  location.lines = {{static_cast<uint32_t>(profile->functions.size() - 1), line}};
  profile->locations.push_back(location);
  profile->stacks[stack].locations.push_back(static_cast<uint32_t>(profile->locations.size() - 1));
}

TEST(Leaks, native_places_have_the_line_that_called_them) {
  Simulation s(600, kRate, 1);
  add_leak("new_row", 2, &s);
  call_from("thumbnail", 15, &s.profile(), 0);
  call_from("answer", 21, &s.profile(), 0);
  // The same place, called by another function for a little.
  Stack second = s.profile().stacks[0];
  second.locations.resize(1);
  second.live.resize(1);
  second.live[0].samples = 1;
  s.profile().stacks.push_back(second);
  call_from("icon", 30, &s.profile(), 1);
  Leaks leaks = find_leaks({{"x", s.profile()}});
  ASSERT_EQ(leaks.rows.size(), 1u);
  ASSERT_TRUE(leaks.rows[0].caller);
  EXPECT_EQ(leaks.rows[0].caller->name, "thumbnail");
  EXPECT_EQ(leaks.rows[0].caller->file, "server.js");
  EXPECT_EQ(leaks.rows[0].caller->line, 15);
  LeakOptions options;
  options.by = GroupBy::kFile;
  EXPECT_FALSE(find_leaks({{"x", s.profile()}}, options).rows[0].caller);
  // A place of the runtime's own language, and one that no runtime called, have none.
  s.profile().stacks[0].locations.erase(s.profile().stacks[0].locations.begin());
  s.profile().stacks[1].locations.resize(1);
  leaks = find_leaks({{"x", s.profile()}});
  ASSERT_EQ(leaks.rows.size(), 2u);
  EXPECT_FALSE(leaks.rows[0].caller);
  EXPECT_FALSE(leaks.rows[1].caller);
}

// 400 runs in which nothing leaks, of 50 places each whose births are in 12 of 16 parts at random.
TEST(Leaks, many_places_do_not_make_a_suspect) {
  int accused = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Simulation s(600, 0, seed);
    for (int site = 0; site < 50; ++site) {
      const double until = 600 * s.uniform(0.3, 0.8);
      for (int i = 0; i < 40; ++i) s.block("site" + std::to_string(site), 1000, s.uniform(0, until));
    }
    accused += find_leaks({{"x", s.profile()}}).suspects != 0 ? 1 : 0;
  }
  EXPECT_LE(accused, 4);  // of 40, with odds of 5 % each at most: more than 4 have odds of 5 %
}

TEST(Leaks, expected_stacks_are_not_judged) {
  Simulation s(600, kRate, 1);
  add_leak("event_log", 1, &s);
  LeakOptions options;
  options.expected = Pattern("^event_log$");
  const Leaks leaks = find_leaks({{"x", s.profile()}}, options);
  EXPECT_EQ(leaks.suspects, 0u);
  EXPECT_TRUE(leaks.rows.empty());
  EXPECT_TRUE(leaks.has_expected);
  EXPECT_GT(leaks.expected_bytes, 100e6);
  LeakOptions ignored;
  ignored.filter.ignore = Pattern("event");
  EXPECT_EQ(find_leaks({{"x", s.profile()}}, ignored).expected_bytes, 0);
}

// The profile of one process at several times.
NamedProfile at(double run_s, const std::function<void(Simulation&)>& program, const std::string& name) {
  Simulation s(run_s, kRate, 5);
  program(s);
  Profile profile = s.profile();
  profile.time_unix_ns = 1'700'000'000'000'000'000 + profile.duration_ns;
  return {name, profile};
}

// A leak that begins at 40 % of the run is too young for one profile; six have a line that rises.
TEST(Leaks, several_profiles_tell_what_births_leave_open) {
  const auto program = [](Simulation& s) {
    for (double t = 240; t < 600; t += 1.5) s.block("late", 4 << 20, t);
  };
  std::vector<NamedProfile> profiles;
  for (const double time : {300.0, 360.0, 420.0, 480.0, 540.0, 600.0}) {
    profiles.push_back(at(time, program, std::to_string(time)));
  }
  EXPECT_EQ(find_leaks({profiles.back()}).rows.at(0).verdict, LeakVerdict::kUnknown);
  std::reverse(profiles.begin(), profiles.end());  // in any order
  const Leaks leaks = find_leaks(profiles);
  EXPECT_EQ(leaks.profiles, 6u);
  const LeakRow* row = row_of(leaks, "late");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->verdict, LeakVerdict::kLeak);
  ASSERT_TRUE(row->slope);
  EXPECT_NEAR(row->growth.bytes_per_minute, 160.0 * (1 << 20), 5.0 * (1 << 20));
}

// It fills for 95 % of what the last profile sees of it, by 20 seconds of which the profiles know better.
TEST(Leaks, several_profiles_tell_what_has_reached_its_level) {
  const auto program = [](Simulation& s) {
    s.at_random(2, 0, 580, [&](double t) { s.block("fills", 1 << 20, t); });
  };
  std::vector<NamedProfile> profiles;
  for (const double time : {570.0, 582.0, 588.0, 594.0, 600.0}) {
    profiles.push_back(at(time, program, std::to_string(time)));
    // A sample is the same block in all.
    profiles.back().profile.stacks[0].live = {{1 << 20, kRate, 1000}};
  }
  const Leaks one = find_leaks({at(580, program, "one")});
  EXPECT_EQ(one.rows.at(0).verdict, LeakVerdict::kLeak);
  profiles.push_back(at(580, program, "one"));
  profiles.back().profile.stacks[0].live = {{1 << 20, kRate, 1000}};
  const Leaks all = find_leaks(profiles);
  EXPECT_NE(all.rows.at(0).verdict, LeakVerdict::kLeak);
}

std::string error_of(const std::vector<NamedProfile>& profiles) {
  try {
    find_leaks(profiles);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Leaks, profiles_that_cannot_tell_are_errors) {
  Simulation s(600, kRate, 1);
  add_leak("leak", 1, &s);
  const Profile whole = s.profile();
  Profile other = whole;
  other.from_memprof = false;
  EXPECT_THAT(error_of({{"x.pb", other}}),
              HasSubstr("x.pb: does not say how long blocks live: memprof did not"));
  other = whole;
  other.stacks[0].has_statistics = false;
  EXPECT_THAT(error_of({{"x.pb", other}}), HasSubstr("another program altered it"));
  other = whole;
  other.stacks[0].births.clear();
  EXPECT_THAT(error_of({{"x.pb", other}}), HasSubstr("an older memprof wrote it"));
  other = whole;
  other.duration_ns = 0;
  EXPECT_THAT(error_of({{"x.pb", other}}), HasSubstr("how long the program ran"));
  other = whole;
  other.pid = 1;
  EXPECT_THAT(error_of({{"x.pb", whole}, {"y.pb", other}}),
              HasSubstr("x.pb and y.pb: not of one process (server pid 4711, server pid 1)"));
  other = whole;
  other.time_unix_ns += 60'000'000'000;  // the id was used again
  EXPECT_THAT(error_of({{"x.pb", whole}, {"y.pb", other}}), HasSubstr("not of one process"));
}

}  // namespace
}  // namespace memprof::profile
