// SPDX-License-Identifier: Apache-2.0
// A series that is recorded by a process: tests/e2e/series_test.py; in browsers: web/browser/series.mjs.
#include "memprof/view/series_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>

#include "memprof/view/live_page.h"
#include "profile/model/error.h"
#include "tests/profile/series/series_fixture.h"

namespace memprof::cli {
namespace {

using profile::IfExists;
using profile::SeriesWriter;
using profile::series_fixture::Folder;
using profile::series_fixture::kSecond;
using profile::series_fixture::kStart;
using profile::series_fixture::look_of;
using profile::series_fixture::profile_at;
using ::testing::HasSubstr;

constexpr uint64_t kRoomy = uint64_t{1} << 30;

class SeriesFollowerTest : public ::testing::Test {
 protected:
  SeriesFollowerTest() { record(); }

  void record(uint64_t start = kStart) {
    writer_.reset();
    writer_.emplace(path_, profile::series_fixture::facts(), kRoomy, IfExists::kReplace);
    start_ = start;
    add(0);
    add(10);
  }
  void add(uint64_t second) {
    const profile::Profile look = profile_at(start_ + second * kSecond, 100 * second);
    writer_->add(look_of(look, 5000 + second), look);
  }
  static double live(const profile::LiveLook& look) {
    return estimated_total(look.profile, profile::Metric::kInuseSpace);
  }

  const Folder folder_;
  const std::string path_ = folder_ / "x.series";
  uint64_t start_ = kStart;
  std::optional<SeriesWriter> writer_;
};

TEST_F(SeriesFollowerTest, ShowsTheFirstLookAndThenTheLast) {
  SeriesFollower looks(path_, AskServers::kNo);
  const profile::LiveLook first = looks.look();
  EXPECT_EQ(first.time_unix_ns, kStart);
  EXPECT_EQ(first.resident_bytes, 5000u);
  EXPECT_TRUE(looks.has_news()) << "the last one";
  const profile::LiveLook second = looks.look();
  EXPECT_EQ(second.time_unix_ns, kStart + 10 * kSecond);
  EXPECT_GT(live(second), live(first));
  EXPECT_FALSE(looks.has_news());
  add(20);
  EXPECT_TRUE(looks.has_news());
  EXPECT_EQ(looks.look().time_unix_ns, kStart + 20 * kSecond);
  EXPECT_FALSE(looks.look_at_end());
}

TEST_F(SeriesFollowerTest, SaysWhenTheRecordingHasEnded) {
  SeriesFollower looks(path_, AskServers::kNo);
  EXPECT_TRUE(looks.is_there());
  add(20);
  writer_.reset();
  EXPECT_FALSE(looks.is_there());
  EXPECT_THAT(looks.ending(), HasSubstr("x.series: the recording has ended"));
  const auto last = looks.look_at_end();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->time_unix_ns, kStart + 20 * kSecond);
  EXPECT_FALSE(looks.look_at_end()) << "it is shown now";
}

TEST_F(SeriesFollowerTest, AnotherRecordingInItsPlaceIsNotShown) {
  SeriesFollower looks(path_, AskServers::kNo);
  looks.look();
  record(kStart + 1000 * kSecond);
  EXPECT_FALSE(looks.has_news());
  EXPECT_FALSE(looks.is_there());
  EXPECT_THAT(looks.ending(), HasSubstr("another file has taken its place"));
  EXPECT_THROW(looks.look(), profile::Error);
  EXPECT_TRUE(looks.between(0, 0)) << "what was read stays";
  EXPECT_EQ(looks.timeline().size(), 2u);
}

TEST_F(SeriesFollowerTest, AFileThatIsGoneEndsIt) {
  SeriesFollower looks(path_, AskServers::kNo);
  looks.look();
  std::remove(path_.c_str());
  EXPECT_FALSE(looks.has_news());
  EXPECT_FALSE(looks.is_there());
}

TEST_F(SeriesFollowerTest, TheTimelineIsAnEvenPartWithTheLast) {
  for (uint64_t i = 2; i < 400; ++i) add(10 * i);
  SeriesFollower looks(path_, AskServers::kNo);
  const std::vector<TimelinePoint> points = looks.timeline();
  EXPECT_LE(points.size(), SeriesFollower::kMaxPoints + 1);
  EXPECT_GE(points.size(), SeriesFollower::kMaxPoints / 2);
  EXPECT_EQ(points.front().seconds, 0);
  EXPECT_EQ(points.front().resident_bytes, 5000);
  EXPECT_EQ(points.back().seconds, 3990);
  EXPECT_GT(points.back().live_bytes, points.front().live_bytes);
}

TEST_F(SeriesFollowerTest, APartIsADifferenceAndAMomentIsALook) {
  SeriesFollower looks(path_, AskServers::kNo);
  const auto one = looks.between(3, 4);
  ASSERT_TRUE(one);
  EXPECT_THAT(*one, HasSubstr(R"("sides":[{)"));
  EXPECT_EQ(one->find("},{\"program\""), std::string::npos) << "one side";
  const auto both = looks.between(0, 1e9);
  ASSERT_TRUE(both);
  EXPECT_THAT(*both, HasSubstr("},{\"program\""));
  EXPECT_THAT(*both, HasSubstr(R"("metric":"inuse_space")"));
}

TEST_F(SeriesFollowerTest, APageOfItTellsWhatIsAdded) {
  SeriesFollower looks(path_, AskServers::kNo);
  LivePage page(&looks, "x.series");
  ViewerPlace place;
  EXPECT_THAT(page.event_after(&place), HasSubstr("event: first"));
  EXPECT_THAT(page.event_after(&place), HasSubstr("event: state"));
  page.look();
  EXPECT_THAT(page.event_after(&place), HasSubstr("event: look"));
  page.look();
  EXPECT_EQ(page.event_after(&place), "");
  ASSERT_TRUE(page.file("between-0-10000"));
  writer_.reset();
  page.look();
  EXPECT_THAT(page.event_after(&place), HasSubstr("the recording has ended"));
  EXPECT_FALSE(page.next_look(true));
}

}  // namespace
}  // namespace memprof::cli
