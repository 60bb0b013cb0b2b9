// SPDX-License-Identifier: Apache-2.0
#include "format/load/load_clock.h"

#include <gtest/gtest.h>

namespace memprof {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStep = 1 << 20;

// So many steps, evenly in the first `busy_s` seconds, and nothing afterwards.
LoadMarks busy_then_idle(uint32_t steps, double busy_s, double idle_s) {
  LoadMarks marks;
  marks.bytes = steps * kStep;
  marks.step_bytes = kStep;
  marks.count = steps;
  for (uint32_t i = 0; i < steps; ++i) {
    marks.at_ns[i] = static_cast<float>((i + 1) * busy_s / steps * 1e9);
  }
  marks.end_ns = static_cast<uint64_t>((busy_s + idle_s) * 1e9);
  marks.rate_bytes = 1;
  return marks;
}

TEST(LoadClock, steady_load_goes_on_as_time_does) {
  const LoadMarks marks = busy_then_idle(64, 160, 0);
  const LoadTimes times = LoadClock(marks).times();
  ASSERT_TRUE(times.is_known());
  EXPECT_FALSE(times.differs_from_time(marks.end_ns));
  EXPECT_EQ(times.bytes, 64 * kStep);
  for (uint32_t part = 0; part <= kBirthParts; ++part) {
    EXPECT_NEAR(static_cast<double>(times.at_ns[part]), 10e9 * part, 1e6) << part;
  }
}

TEST(LoadClock, stands_still_while_the_process_is_idle) {
  for (const double idle_s : {8.0, 16.0, 160.0, 16000.0}) {
    const LoadMarks marks = busy_then_idle(40, 16, idle_s);
    const LoadTimes times = LoadClock(marks).times();
    ASSERT_TRUE(times.is_known()) << idle_s;
    EXPECT_TRUE(times.differs_from_time(marks.end_ns)) << idle_s;
    EXPECT_NEAR(static_cast<double>(times.end_ns()), 16e9, 0.5e9) << idle_s;
    for (uint32_t part = 0; part < kBirthParts; ++part) {
      EXPECT_NEAR(static_cast<double>(times.at_ns[part]), 1e9 * part, 1e7) << idle_s << " " << part;
    }
    EXPECT_EQ(times.part_of(0), 0U);
    EXPECT_EQ(times.part_of(8 * kSecond + kSecond / 2), 8U);
    EXPECT_EQ(times.part_of(static_cast<uint64_t>(idle_s * 1e9)), idle_s < 16 ? 8U : kBirthParts - 1);
  }
}

// Something that a server does each minute, whatever there is to do.
TEST(LoadClock, a_little_now_and_then_is_idle) {
  LoadMarks marks = busy_then_idle(40, 16, 1600);
  marks.count = 41;
  marks.at_ns[40] = 1200e9F;
  marks.bytes = 41 * kStep + kStep / 2;
  const LoadTimes times = LoadClock(marks).times();
  EXPECT_NEAR(static_cast<double>(times.end_ns()), 16e9, 1e9);
}

TEST(LoadClock, a_tenth_of_all_is_not_idle) {
  LoadMarks marks = busy_then_idle(40, 16, 1600);
  for (; marks.count < 44; ++marks.count) {
    marks.at_ns[marks.count] = static_cast<float>(16e9 + 400e9 * (marks.count - 39));
    marks.bytes += kStep;
  }
  EXPECT_EQ(LoadClock(marks).times().end_ns(), marks.end_ns);
}

// Load, a pause, and as much load: the pause is between two sixteenths.
TEST(LoadClock, a_pause_takes_no_part) {
  LoadMarks marks = busy_then_idle(64, 64, 0);
  for (uint32_t i = 32; i < 64; ++i) marks.at_ns[i] += 1000e9F;
  marks.end_ns += 1000 * kSecond;
  const LoadTimes times = LoadClock(marks).times();
  EXPECT_NEAR(static_cast<double>(times.at_ns[8]), 32e9, 1e9);
  EXPECT_NEAR(static_cast<double>(times.at_ns[9]), 1036e9, 1e9);
  EXPECT_EQ(times.end_ns(), marks.end_ns);
}

// A model of 40 steps that is loaded within a second, halfway: the clock does not go on for it.
TEST(LoadClock, what_is_kept_is_no_load) {
  LoadMarks marks = busy_then_idle(20, 20, 0);
  for (; marks.count < 60; ++marks.count) {
    marks.at_ns[marks.count] = static_cast<float>(marks.at_ns[9] + (marks.count - 19) / 40.0 * 1e9);
  }
  // In order of time: ten steps, the model, ten steps.
  for (uint32_t i = 0; i < 60; ++i) {
    marks.at_ns[i] = i < 10   ? static_cast<float>(i + 1) * 1e9F
                     : i < 50 ? 10e9F + static_cast<float>(i - 9) / 40 * 1e9F
                              : static_cast<float>(i - 38) * 1e9F;
  }
  marks.bytes = 60 * kStep;
  marks.end_ns = 21 * kSecond;
  LoadClock clock(marks);
  for (uint32_t i = 10; i < 50; ++i) clock.add_live(static_cast<uint64_t>(marks.at_ns[i]) - 1000, kStep);
  const LoadTimes times = clock.times();
  ASSERT_TRUE(times.is_known());
  EXPECT_NEAR(static_cast<double>(times.bytes), 20.0 * kStep, 0.1 * kStep);
  EXPECT_NEAR(static_cast<double>(times.at_ns[4]), 5e9, 0.2e9);
  EXPECT_NEAR(static_cast<double>(times.at_ns[12]), 16e9, 0.3e9);
}

TEST(LoadClock, too_little_is_not_known) {
  EXPECT_FALSE(LoadClock(LoadMarks()).times().is_known());
  EXPECT_FALSE(LoadClock(busy_then_idle(8, 16, 100)).times().is_known());
  LoadMarks few_samples = busy_then_idle(40, 16, 100);
  few_samples.rate_bytes = 2 * kStep;
  EXPECT_FALSE(LoadClock(few_samples).times().is_known());
  // All that was allocated is kept.
  const LoadMarks marks = busy_then_idle(40, 16, 100);
  LoadClock clock(marks);
  for (uint32_t i = 0; i < 40; ++i) clock.add_live(static_cast<uint64_t>(marks.at_ns[i]) - 1000, kStep);
  EXPECT_FALSE(clock.times().is_known());
}

TEST(LoadClock, garbage_has_times_in_order) {
  LoadMarks marks;
  marks.bytes = UINT64_MAX;
  marks.step_bytes = UINT64_MAX / 3;
  marks.count = kLoadMarks;
  marks.end_ns = 5;
  for (float& at_ns : marks.at_ns) at_ns = 1e18F;
  const LoadTimes times = LoadClock(marks).times();
  for (uint32_t part = 1; part <= kBirthParts; ++part) EXPECT_LE(times.at_ns[part - 1], times.at_ns[part]);
}

}  // namespace
}  // namespace memprof
