// SPDX-License-Identifier: Apache-2.0
#include "memprof/view/live_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "profile/page/page_html.h"
#include "profile/series/series.h"
#include "tests/profile/series/series_fixture.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using profile::series_fixture::kSecond;
using profile::series_fixture::kStart;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A process that holds so many blocks of 100 bytes.
profile::LiveLook look_with(uint64_t blocks) {
  profile::LiveLook look;
  look.profile = testing_tools::small_profile();
  profile::Stack& stack = look.profile.stacks.front();
  stack.live = {{100, 0, blocks}};
  look.resident_bytes = 1000 * blocks;
  return look;
}

std::string time_at(uint64_t second) {
  return profile::time_text(kStart + second * kSecond);
}

// A processor of which each look that is kept takes 10 ms, and one of which none takes any: all looks are kept.
std::chrono::nanoseconds ten_ms_each() {
  static std::chrono::nanoseconds used{0};
  return used += std::chrono::milliseconds(10);
}

std::chrono::nanoseconds free_of_cost() {
  return {};
}

struct FreeTimeline : LiveTimeline {
  explicit FreeTimeline(size_t max_bytes = size_t{64} << 20) : LiveTimeline(max_bytes, free_of_cost) {}
};

// Adds looks of second `from` to `to`, of so many blocks as seconds.
profile::Profile add(LiveTimeline& timeline, uint64_t from, uint64_t to) {
  profile::LiveLook look;
  for (uint64_t second = from; second <= to; ++second) {
    look = look_with(second);
    timeline.add(look, static_cast<double>(second), kStart + second * kSecond);
  }
  return look.profile;
}

TEST(LiveTimeline, HasAPointOfEachLook) {
  LiveTimeline timeline;
  add(timeline, 1, 3);
  ASSERT_EQ(timeline.points().size(), 3u);
  EXPECT_EQ(timeline.points()[1].seconds, 2);
  EXPECT_EQ(timeline.points()[1].live_bytes, 200);
  EXPECT_EQ(timeline.points()[1].resident_bytes, 2000);
}

TEST(LiveTimeline, KeepsAnEvenPartOfManyLooks) {
  LiveTimeline timeline;
  add(timeline, 1, 1000);
  const auto& points = timeline.points();
  EXPECT_LT(points.size(), LiveTimeline::kMaxPoints);
  EXPECT_GE(points.size(), LiveTimeline::kMaxPoints / 2);
  EXPECT_EQ(points.front().seconds, 1);
  EXPECT_GT(points.back().seconds, 990);
  const double step = points[1].seconds - points[0].seconds;
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_EQ(points[i].seconds - points[i - 1].seconds, step) << i;
  }
}

TEST(LiveTimeline, SaysWhatChangedBetweenTwoLooks) {
  FreeTimeline timeline;
  const profile::Profile last = add(timeline, 1, 5);
  const std::string two = timeline.between(1.4, 2.6, last);
  EXPECT_THAT(two, AllOf(HasSubstr(time_at(1) + " to " + time_at(3)), Not(HasSubstr(time_at(5)))));
  EXPECT_EQ(two, timeline.between(1, 3, last)) << "those that are next to it";
  const std::string to_the_end = timeline.between(1, 1000, last);
  EXPECT_THAT(to_the_end, HasSubstr(time_at(1) + " to " + time_at(5)));
}

TEST(LiveTimeline, KeepsLooksForHalfAPercentOfItsTime) {
  LiveTimeline timeline(size_t{64} << 20, ten_ms_each);
  add(timeline, 1, 100);
  EXPECT_EQ(timeline.looks(), 50u);  // one in 2 s
  EXPECT_EQ(timeline.points().size(), 100u);
  FreeTimeline all;
  add(all, 1, 100);
  EXPECT_EQ(all.looks(), 100u);
}

TEST(LiveTimeline, OneMomentIsThatLookAlone) {
  FreeTimeline timeline;
  const profile::Profile last = add(timeline, 1, 5);
  EXPECT_EQ(timeline.between(3, 3.2, last), profile::write_page_block(look_with(3).profile, time_at(3)));
  EXPECT_EQ(timeline.between(9, 9, last), profile::write_page_block(last, time_at(5)));
}

TEST(LiveTimeline, TheLastLookIsThereAlsoWhereItIsNotKept) {
  FreeTimeline timeline;
  add(timeline, 1, 1000);
  profile::LiveLook look = look_with(77);
  timeline.add(look, 1000.001, kStart + 1001 * kSecond);
  EXPECT_THAT(timeline.between(1, 1000.001, look.profile), HasSubstr(time_at(1) + " to " + time_at(1001)));
}

TEST(LiveTimeline, StaysWithinItsMemory) {
  FreeTimeline small(4000);
  const profile::Profile last = add(small, 1, 100);
  FreeTimeline large;
  add(large, 1, 100);
  EXPECT_LT(small.looks(), large.looks());
  EXPECT_GE(small.looks(), 1u);
  EXPECT_EQ(small.points().size(), 100u);
  EXPECT_THAT(small.between(1, 100, last), HasSubstr(time_at(1) + " to " + time_at(100)))
      << "the first stays";
  FreeTimeline none(1);
  add(none, 1, 10);
  EXPECT_EQ(none.looks(), 1u);
}

}  // namespace
}  // namespace memprof::cli
