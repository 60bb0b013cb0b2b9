// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/shared_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two processes of one program, at addresses of their own.
struct TwoProcesses {
  fixture::Running running = fixture::run(fixture::path("pie"), fixture::kBuildId);
  Profile first = fixture::profile_of(running);
  Profile second = first;

  TwoProcesses() {
    for (Mapping& mapping : second.mappings) {
      mapping.start += 1 << 20;
      mapping.limit += 1 << 20;
    }
    for (Location& location : second.locations) location.address += 1 << 20;
    second.locations.erase(second.locations.begin());
  }
};

TEST(SharedNames, AreThoseThatEachProfileWouldGetAlone) {
  TwoProcesses processes;
  Profile alone[] = {processes.first, processes.second};
  for (Profile& profile : alone) Symbolizer().symbolize(profile);
  SharedNames names;
  names.add(processes.first);
  names.add(processes.second);
  const SymbolizeSummary summary = names.resolve({});
  EXPECT_THAT(summary.warnings, IsEmpty());
  EXPECT_EQ(summary.named, processes.first.locations.size());  // each place once
  names.apply(processes.first);
  names.apply(processes.second);
  EXPECT_EQ(fixture::names(processes.first), fixture::names(alone[0]));
  EXPECT_EQ(fixture::names(processes.second), fixture::names(alone[1]));
  EXPECT_EQ(fixture::names(processes.first), fixture::expected_names(processes.running));
  EXPECT_EQ(processes.first.functions.size(), alone[0].functions.size());
  EXPECT_TRUE(processes.second.mappings[0].has_functions);
  EXPECT_EQ(processes.second.mappings[0].has_line_numbers, alone[1].mappings[0].has_line_numbers);
}

TEST(SharedNames, WhatHasANameKeepsIt) {
  TwoProcesses processes;
  processes.first.functions.push_back({"by the JIT", "by the JIT", "", 0});
  processes.first.locations[1].lines.push_back({0, 7});
  SharedNames names;
  names.add(processes.first);
  names.resolve({});
  names.apply(processes.first);
  EXPECT_THAT(fixture::names(processes.first), Contains("by the JIT").Times(1));
}

TEST(SharedNames, AChangedBinaryIsSaidOnce) {
  Profile first = fixture::profile_of(fixture::run(fixture::path("changed"), fixture::kBuildId));
  Profile second = first;
  SharedNames names;
  names.add(first);
  names.add(second);
  EXPECT_THAT(names.resolve({}).warnings, ElementsAre(HasSubstr("binary changed since it was profiled")));
  names.apply(second);
  EXPECT_TRUE(second.functions.empty());
}

TEST(SharedNames, WhatLiesInNoFileIsLeftAlone) {
  Profile profile;
  profile.mappings.resize(1);
  profile.mappings[0].start = 0x1000;
  profile.mappings[0].limit = 0x2000;
  profile.mappings[0].path = "/no/such/file";
  profile.locations.resize(3);
  profile.locations[0].address = 0x3000;  // outside
  profile.locations[0].mapping = 0;
  profile.locations[1].address = 0x1800;  // of no mapping
  profile.locations[2].address = 0x1800;
  profile.locations[2].mapping = 7;  // of one that is not there
  SharedNames names;
  names.add(profile);
  names.resolve({});
  names.apply(profile);
  for (const Location& location : profile.locations) EXPECT_THAT(location.lines, IsEmpty());
  Profile other;  // one that was not added
  other.mappings = profile.mappings;
  other.mappings[0].path = "/another";
  other.locations = profile.locations;
  other.locations[0].address = 0x1800;
  names.apply(other);
  EXPECT_THAT(other.locations[0].lines, IsEmpty());
}

}  // namespace
}  // namespace memprof::profile
