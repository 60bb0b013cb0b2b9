// SPDX-License-Identifier: Apache-2.0
#include "profile/names/stack_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

std::vector<std::string> names_of(const StackFrames& frames, const Stack& stack) {
  std::vector<std::string> names;
  for (const uint32_t frame : frames.root_first(stack)) {
    names.push_back(frames.frames()[frame].name);
  }
  return names;
}

TEST(StackFrames, run_from_root_to_leaf_with_inlined_functions) {
  const Profile profile = named_profile();
  const StackFrames frames(profile);
  EXPECT_THAT(names_of(frames, profile.stacks[0]),
              testing::ElementsAre("libc.so.6+0x1000", "main", "ns::make<int; char>(int)", "inner"));
}

TEST(StackFrames, are_one_for_a_function_whatever_its_line) {
  Profile profile = named_profile();
  profile.locations.push_back({0x402010, 0, false, {{0, 99}}});  // main again
  profile.stacks[0].locations.push_back(4);
  const StackFrames frames(profile);
  const std::vector<uint32_t> indices = frames.root_first(profile.stacks[0]);
  EXPECT_EQ(indices[0], indices[2]);
  profile.functions.push_back({"main", "main", "/other/main.cc", 1});
  profile.locations[4].lines[0].function = 3;
  const StackFrames apart(profile);
  EXPECT_NE(apart.root_first(profile.stacks[0])[0], apart.root_first(profile.stacks[0])[2]);
}

TEST(StackFrames, have_the_line_that_holds_the_most_or_one_for_each) {
  Profile profile = named_profile();
  profile.locations.push_back({0x402010, 0, false, {{0, 99}}});  // main again, with less
  Stack small = profile.stacks[0];
  small.locations = {4};
  small.live.resize(1);
  profile.stacks.push_back(small);
  const auto lines_of = [&](const StackFrames& frames) {
    std::vector<int64_t> lines;
    for (const Stack& stack : profile.stacks)
      lines.push_back(frames.frames()[frames.root_first(stack)[0]].line);
    return lines;
  };
  profile.stacks[0].locations.pop_back();  // begins at main
  EXPECT_THAT(lines_of(StackFrames(profile)), testing::ElementsAre(12, 12, 12));
  EXPECT_THAT(lines_of(StackFrames(profile, GroupBy::kLine)), testing::ElementsAre(12, 12, 99));
}

TEST(StackFrames, an_empty_stack_is_one_unknown_frame) {
  const Profile profile = named_profile();
  EXPECT_THAT(names_of(StackFrames(profile), Stack()), testing::ElementsAre(kUnknownFrame));
}

TEST(StackFrames, a_named_heap_is_the_outermost_frame) {
  Profile profile = named_profile();
  profile.stacks.push_back(profile.stacks[0]);
  profile.stacks[0].heap = profile.stacks[1].heap = "pool:a";
  const StackFrames frames(profile);
  const auto name_of = [&](const Stack& stack) {
    return frames.frames()[frames.root_first(stack).front()].name;
  };
  EXPECT_EQ(name_of(profile.stacks[0]), "[heap pool:a]");
  EXPECT_EQ(frames.root_first(profile.stacks[0]).front(), frames.root_first(profile.stacks[1]).front());
  EXPECT_EQ(name_of(profile.stacks[2]), "libc.so.6+0x1000");
}

}  // namespace
}  // namespace memprof::profile
