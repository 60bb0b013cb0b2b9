// SPDX-License-Identifier: Apache-2.0
#include "profile/names/place_names.h"

#include <gtest/gtest.h>

#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"

namespace memprof::profile {
namespace {

// main() of a program, and code of it and of nothing known without names.
Profile profile_with_nameless() {
  Profile profile;
  profile.from_memprof = true;
  Mapping mapping;
  mapping.start = 0x1000;
  mapping.limit = 0x9000;
  mapping.file_offset = 0x200;
  mapping.path = "/usr/bin/server";
  profile.mappings = {mapping};
  profile.functions = {{"main", "main", "", 0}};
  profile.locations.resize(3);
  for (uint32_t i = 0; i < 2; ++i) profile.locations[i].mapping = 0;
  profile.locations[0].address = 0x1100;
  profile.locations[0].lines = {{0, 0}};
  profile.locations[1].address = 0x1234;
  profile.locations[2].address = 0x77;
  Stack stack;
  stack.locations = {2, 1, 0};
  stack.has_statistics = true;
  stack.live = {{100, 0, 3}};
  stack.allocated = {3, 300, 300, 3, 0, 0, 0, 0};
  profile.stacks = {stack};
  return profile;
}

TEST(PlaceNames, OfWhatHasNone) {
  std::vector<std::string> names;
  for (const Function& function : place_functions(profile_with_nameless())) names.push_back(function.name);
  EXPECT_EQ(names, (std::vector<std::string>{"", "server+0x434", "0x77"}));
}

TEST(PlaceNames, OthersReadThemAndMemprofDoesNot) {
  const Profile profile = profile_with_nameless();
  PprofWriteOptions options;
  options.gzip = false;
  const std::string without = write_pprof(profile, options);
  options.names_places = true;
  const std::string with = write_pprof(profile, options);
  EXPECT_EQ(without.find("server+0x434"), std::string::npos);
  EXPECT_NE(with.find("server+0x434"), std::string::npos);
  EXPECT_NE(with.find("0x77"), std::string::npos);
  const Profile read = read_pprof(with, "x");
  ASSERT_EQ(read.locations.size(), 3u);
  EXPECT_EQ(read.locations[0].lines.size(), 1u);
  EXPECT_TRUE(read.locations[1].lines.empty());
  EXPECT_TRUE(read.locations[2].lines.empty());
  EXPECT_EQ(read.functions.size(), 1u);
  EXPECT_EQ(write_pprof(read, options), with) << "as often as one likes";
}

TEST(PlaceNames, AFunctionThatIsCalledSoStays) {
  Profile profile = profile_with_nameless();
  profile.functions.push_back({"server+0x434", "server+0x434", "server.c", 0});
  profile.functions.push_back({"server+0x435", "server+0x435", "", 0});
  profile.locations[1].lines = {{1, 12}};
  profile.locations[2].lines = {{2, 0}};
  drop_place_names(&profile);
  EXPECT_EQ(profile.locations[1].lines.size(), 1u);
  EXPECT_EQ(profile.locations[2].lines.size(), 1u);
  EXPECT_EQ(profile.functions.size(), 3u);
}

}  // namespace
}  // namespace memprof::profile
