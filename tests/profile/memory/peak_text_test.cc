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

}  // namespace
}  // namespace memprof::profile
