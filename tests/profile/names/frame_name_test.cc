// SPDX-License-Identifier: Apache-2.0
#include "profile/names/frame_name.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

TEST(FrameName, inlined_functions_are_frames_innermost_first) {
  const Profile profile = named_profile();
  const std::vector<Frame> frames = location_frames(profile, profile.locations[0]);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].name, "inner");
  EXPECT_EQ(frames[0].file, "/src/make.h");
  EXPECT_EQ(frames[0].line, 7);
  EXPECT_EQ(frames[0].module, "server");
  EXPECT_TRUE(frames[0].is_named);
  EXPECT_EQ(frames[1].name, "ns::make<int; char>(int)");
}

TEST(FrameName, without_a_function_it_is_the_offset_in_the_file) {
  Profile profile = named_profile();
  profile.locations[0].lines.clear();
  const std::vector<Frame> frames = location_frames(profile, profile.locations[0]);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].name, "server+0x2234");  // 0x401234 - 0x400000 + 0x1000
  EXPECT_FALSE(frames[0].is_named);
  EXPECT_EQ(frames[0].file, "");
}

TEST(FrameName, without_a_mapping_it_is_the_address) {
  Profile profile = named_profile();
  EXPECT_EQ(location_frames(profile, profile.locations[3])[0].name, "0x12345");
  profile.mappings[1].path.clear();
  EXPECT_EQ(location_frames(profile, profile.locations[2])[0].name, "0x7f0000001000");
}

TEST(FrameName, code_in_no_file_was_made_at_run_time) {
  Profile profile = named_profile();
  profile.from_memprof = false;
  EXPECT_EQ(shown_frame_name(location_frames(profile, profile.locations[3])[0]), "0x12345")
      << "of another tool";
  profile.from_memprof = true;
  const Frame made = location_frames(profile, profile.locations[3])[0];
  EXPECT_TRUE(made.is_made);
  EXPECT_EQ(made.name, "0x12345");
  EXPECT_EQ(shown_frame_name(made), "[JIT code]");
  EXPECT_EQ(made.module, "[JIT code]");
  EXPECT_FALSE(location_frames(profile, profile.locations[0])[0].is_made);
  // Its own name where a file of the process said it.
  profile.locations[3].lines = profile.locations[0].lines;
  EXPECT_EQ(shown_frame_name(location_frames(profile, profile.locations[3])[0]),
            shown_frame_name(location_frames(profile, profile.locations[0])[0]));
  EXPECT_TRUE(location_frames(profile, profile.locations[3])[0].is_made);
  // What stands for frames that were left out.
  profile.locations[3].address = 0;
  EXPECT_FALSE(location_frames(profile, profile.locations[3])[0].is_made);
}

TEST(FrameName, code_that_a_jit_listed_is_machine_code_with_a_name) {
  report_fixture::Builder b;
  const uint32_t listed = b.python("evalexpr_0_1", kMadeCode, 0);
  const uint32_t python = b.python("f", "f.py", 3);
  b.profile().from_memprof = true;
  const Frame frame = location_frames(b.profile(), b.profile().locations[listed])[0];
  EXPECT_TRUE(frame.is_made && frame.is_named);
  EXPECT_FALSE(frame.is_executed);
  EXPECT_EQ(frame.module, kMadeCode);
  EXPECT_EQ(frame.file, "");
  EXPECT_EQ(shown_frame_name(frame), "evalexpr_0_1");
  EXPECT_FALSE(location_frames(b.profile(), b.profile().locations[python])[0].is_made);
}

TEST(FrameName, code_of_a_runtime_without_any_name_is_an_address) {
  report_fixture::Builder b;
  const uint32_t python = b.python("", "f.py", 3);
  b.profile().from_memprof = true;
  EXPECT_EQ(location_frames(b.profile(), b.profile().locations[python])[0].name, "0x0");
}

TEST(FrameName, a_function_with_only_a_system_name_goes_by_it) {
  Profile profile = named_profile();
  profile.functions[1].name.clear();
  EXPECT_EQ(location_frames(profile, profile.locations[0])[1].name, "_ZN2ns4makeIicEEvi");
  profile.functions[1].system_name.clear();
  EXPECT_EQ(location_frames(profile, profile.locations[0])[1].name, "server+0x2234");
  EXPECT_EQ(location_frames(profile, profile.locations[0])[1].line, 30);
}

}  // namespace
}  // namespace memprof::profile
