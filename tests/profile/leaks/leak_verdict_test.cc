// SPDX-License-Identifier: Apache-2.0
// The edges; leak_programs_test.cc has programs.
#include "profile/leaks/leak_verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace memprof::profile {
namespace {

SiteLives living(const std::vector<double>& counts) {
  SiteLives lives;
  lives.run_ns = 160e9;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) lives.living[i].add(counts[i], counts[i], 1000 * counts[i]);
  }
  return lives;
}

TEST(LeakVerdict, names_are_unlike) {
  for (size_t i = 0; i < kLeakVerdicts; ++i) {
    for (size_t j = 0; j < i; ++j) {
      EXPECT_STRNE(verdict_name(static_cast<LeakVerdict>(i)), verdict_name(static_cast<LeakVerdict>(j)));
    }
  }
}

TEST(LeakVerdict, nothing_is_said_of_few_samples_or_no_time) {
  EXPECT_EQ(assess(living({})).verdict, LeakVerdict::kUnknown);
  EXPECT_EQ(assess(living({1, 1, 1, 1})).verdict, LeakVerdict::kUnknown);
  SiteLives timeless = living(std::vector<double>(16, 10));
  timeless.run_ns = 0;
  EXPECT_EQ(assess(timeless).verdict, LeakVerdict::kUnknown);
}

TEST(LeakVerdict, a_leak_is_tested) {
  const Assessment a = assess(living(std::vector<double>(16, 10)));
  EXPECT_EQ(a.verdict, LeakVerdict::kLeak);
  EXPECT_TRUE(a.is_tested);
  EXPECT_LT(a.p_value, 1e-6);
  EXPECT_EQ(a.never_freed.share, 1);
  EXPECT_EQ(a.settled_after_ns, 0);
}

// Half live 10 s: those that are younger than that do not count as kept.
TEST(LeakVerdict, what_is_freed_soon_is_not_kept) {
  SiteLives lives = living(std::vector<double>(16, 10));
  lives.living[15].add(10, 10, 10'000);
  lives.freed[lifetime_class(9'000'000'000)].add(150, 150, 150'000);
  const Assessment a = assess(lives);
  EXPECT_EQ(a.verdict, LeakVerdict::kLeak);
  EXPECT_EQ(a.settled_after_ns, 10e9);
  EXPECT_EQ(a.births.samples, 150);
  EXPECT_NEAR(a.never_freed.share, 0.5, 0.03);
}

TEST(LeakVerdict, the_young_and_the_once) {
  std::vector<double> counts(16, 0);
  counts[15] = 50;
  EXPECT_EQ(assess(living(counts)).verdict, LeakVerdict::kYoung);
  counts[15] = 0;
  counts[7] = 50;
  EXPECT_EQ(assess(living(counts)).verdict, LeakVerdict::kOnce);
  counts[7] = 0;
  counts[2] = 50;
  EXPECT_EQ(assess(living(counts)).verdict, LeakVerdict::kStart);
}

// A few tables of the start beside a ring that holds most.
TEST(LeakVerdict, what_comes_and_goes_outweighs_what_stays) {
  std::vector<double> counts(16, 0);
  counts[0] = 10;
  counts[13] = counts[14] = counts[15] = 40;
  SiteLives lives = living(counts);
  lives.freed[lifetime_class(20'000'000'000)].add(400, 400, 400'000);
  EXPECT_EQ(assess(lives).verdict, LeakVerdict::kLevel);
}

// A tenth of what is old is freed now and then: neither that it stays nor that it goes can be said.
TEST(LeakVerdict, some_that_are_old_are_freed_and_some_are_not) {
  SiteLives lives = living(std::vector<double>(16, 40));
  lives.freed[lifetime_class(100'000'000'000)].add(60, 60, 60'000);
  const Assessment a = assess(lives);
  EXPECT_EQ(a.verdict, LeakVerdict::kUnknown);
  EXPECT_EQ(a.births.samples, 0);
}

// By load a leak, by time it is not.
TEST(LeakVerdict, what_is_kept_decides_what_a_leak_by_load_is) {
  Assessment by_time, by_load;
  by_time.verdict = LeakVerdict::kStart;
  by_load.verdict = LeakVerdict::kLeak;
  by_load.p_value = 0.001;
  EXPECT_EQ(choose_clock(by_time, by_load, {0.05, false, true}), ClockChoice::kLoad);
  EXPECT_EQ(choose_clock(by_time, by_load, {0.3, false, true}), ClockChoice::kDoubt);
  EXPECT_EQ(choose_clock(by_time, by_load, {0.7, false, true}), ClockChoice::kTime);
  EXPECT_EQ(choose_clock(by_time, by_load, {0.05, true, true}), ClockChoice::kTime);
  by_time.verdict = LeakVerdict::kLeak;
  by_time.p_value = 0.01;
  EXPECT_EQ(choose_clock(by_time, by_load, {0.05, false, true}), ClockChoice::kTime);
  by_time.p_value = 0.4;
  EXPECT_EQ(choose_clock(by_time, by_load, {0.05, false, false}), ClockChoice::kLoad);
}

TEST(LeakVerdict, of_an_idle_process_what_it_was_before_counts) {
  Assessment by_time, by_load;
  by_time.verdict = LeakVerdict::kStart;
  for (const LeakVerdict was :
       {LeakVerdict::kLevel, LeakVerdict::kFilled, LeakVerdict::kStart, LeakVerdict::kOnce}) {
    by_load.verdict = was;
    EXPECT_EQ(choose_clock(by_time, by_load, {0.9, false, true}), ClockChoice::kLoad);
    EXPECT_EQ(choose_clock(by_time, by_load, {0.9, false, false}), ClockChoice::kTime);
  }
  by_load.verdict = LeakVerdict::kYoung;
  EXPECT_EQ(choose_clock(by_time, by_load, {0.05, false, true}), ClockChoice::kTime);
  by_load.verdict = LeakVerdict::kUnknown;
  EXPECT_EQ(choose_clock(by_time, by_load, {0.05, false, true}), ClockChoice::kLoad);
  EXPECT_EQ(choose_clock(by_time, by_load, {0.9, false, true}), ClockChoice::kTime);
}

// By load, what was born since the process became idle has no age.
TEST(LeakVerdict, what_was_born_since_the_process_is_idle_is_judged_by_time) {
  Assessment by_time, by_load;
  by_time.verdict = LeakVerdict::kOnce;
  for (const LeakVerdict was : {LeakVerdict::kLevel, LeakVerdict::kFilled, LeakVerdict::kStart,
                                LeakVerdict::kOnce, LeakVerdict::kYoung, LeakVerdict::kUnknown}) {
    by_load.verdict = was;
    EXPECT_EQ(choose_clock(by_time, by_load, {0.05, false, true, true}), ClockChoice::kTime);
  }
}

}  // namespace
}  // namespace memprof::profile
