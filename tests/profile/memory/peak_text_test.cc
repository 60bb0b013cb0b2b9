// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/peak_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PeakText, SaysWhenItWasAndWhatWasResident) {
  Profile profile;
  EXPECT_THAT(peak_moment_lines(profile, 0), ElementsAre());
  profile.max_resident_bytes = 3 << 20;
  EXPECT_THAT(peak_moment_lines(profile, 0), ElementsAre("           most resident (VmHWM): 3.0 MiB"));
  profile.peak_after_ns = 1'500'000'000;
  profile.peak_resident_bytes = 2 << 20;
  const char* const moment =
      "           reached after 1.5 s; resident then: 2.0 MiB; most resident (VmHWM): 3.0 MiB";
  EXPECT_THAT(peak_moment_lines(profile, 5000), ElementsAre(moment));
  profile.peak_files_bytes = 1 << 20;
  EXPECT_THAT(peak_moment_lines(profile, 1 << 19), ElementsAre(moment, HasSubstr("heap 512.0 KiB")));
  EXPECT_THAT(peak_moment_lines(profile, 0), ElementsAre(moment)) << "it is not known what the heap was";
}

TEST(PeakText, OfAKilledProcessItSaysWhatIsResidentAsARange) {
  Profile profile;
  profile.is_peak_resident_before = true;
  profile.peak_resident_bytes = 70 << 20;
  profile.peak_files_bytes = 2 << 20;
  profile.max_resident_bytes = 79 << 20;
  EXPECT_THAT(peak_moment_lines(profile, 74e6),
              ElementsAre("           resident then: 70.0 MiB to 79.0 MiB; most resident (VmHWM): 79.0 MiB"));
  profile.max_resident_bytes = (70 << 20) + 5000;
  EXPECT_THAT(peak_moment_lines(profile, 60 << 20),
              ElementsAre("           resident then: 70.0 MiB; most resident (VmHWM): 70.0 MiB",
                          HasSubstr("heap 60.0 MiB, not split 8.0 MiB")));
}

// As of a shell with one sample, which is freed at the end and not of the half that tells the peak.
TEST(PeakText, SaysWhatIsListedWhereNoSampleTellsThePeak) {
  Profile profile;
  const char* const none = "Peak:      0 B: none of the samples that tell it was live then";
  EXPECT_THAT(untold_peak_lines(profile, Metric::kInuseSpace), ElementsAre(none)) << "it runs";
  profile.has_ended = true;
  EXPECT_THAT(untold_peak_lines(profile, Metric::kInuseSpace),
              ElementsAre(none, "           listed instead: what was live at the end"));
  EXPECT_THAT(untold_peak_lines(profile, Metric::kAllocSpace),
              ElementsAre(none, "           listed instead: what was allocated"));
  EXPECT_THAT(untold_peak_lines(profile, Metric::kPeakSpace), ElementsAre(none)) << "was asked for";
}

TEST(PeakText, OfALookForWantOfMemoryItSaysTheMarkAndTheStall) {
  Profile profile;
  EXPECT_EQ(short_of_memory_text(profile), "");
  EXPECT_THAT(pressure_lines(profile), ElementsAre());
  profile.pressure_percent = 95;
  profile.memory_limit_bytes = 200 << 20;
  profile.memory_used_bytes = 191 << 20;
  EXPECT_EQ(short_of_memory_text(profile), ", at 95 % of the memory limit of its group, 200.0 MiB");
  EXPECT_THAT(pressure_lines(profile), ElementsAre("Pressure:  the group used 191.0 MiB"));
  profile.stall_some_ppm = 123'400;
  profile.stall_full_ppm = 40'000;
  EXPECT_THAT(
      pressure_lines(profile),
      ElementsAre(
          "Pressure:  the group used 191.0 MiB; its processes waited for memory in 12.3 % of the 10 s "
          "before, all at once in 4.0 %"));
  profile.is_stall_of_machine = true;
  EXPECT_THAT(pressure_lines(profile),
              ElementsAre(HasSubstr("; processes of the machine waited for memory in 12.3 %")));
}

TEST(PeakText, AStallAloneIsSaid) {
  Profile profile;
  profile.is_memory_stalled = true;
  profile.stall_some_ppm = 200'000;
  EXPECT_EQ(short_of_memory_text(profile), ", while processes of its group waited for memory");
  EXPECT_THAT(
      pressure_lines(profile),
      ElementsAre(
          "Pressure:  its processes waited for memory in 20.0 % of the 10 s before, all at once in 0.0 %"));
  profile.is_oom_killed = true;
  EXPECT_EQ(short_of_memory_text(profile),
            ", while processes of its group waited for memory, killed by the OOM killer");
}

}  // namespace
}  // namespace memprof::profile
