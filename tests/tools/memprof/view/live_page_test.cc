// SPDX-License-Identifier: Apache-2.0
// Real processes are watched in tests/e2e/live_page_test.py, by browsers in web/browser/live.mjs.
#include "memprof/view/live_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "profile/files/gzip.h"
#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

// A process that holds what the test says.
class Looks : public LookSource {
 public:
  profile::LiveLook look() override {
    ++asked;
    if (!error.empty()) throw profile::Error(error);
    return now();
  }
  std::optional<profile::LiveLook> look_at_end() override {
    if (!has_end) return std::nullopt;
    return now();
  }
  const std::vector<uint64_t>& pids() const override { return pids_; }
  bool is_there() const override { return is_running; }
  std::string ending() const override { return "process 4711 has ended"; }
  bool has_news() override { return has_new; }
  std::optional<std::string> between(double first_s, double last_s) override {
    if (!has_earlier) return std::nullopt;
    return std::to_string(first_s) + " " + std::to_string(last_s);
  }

  size_t asked = 0;
  bool is_running = true;
  bool has_end = false;
  bool has_new = true;
  bool has_earlier = false;
  std::string error;

 private:
  static profile::LiveLook now() {
    profile::LiveLook look;
    look.profile = testing_tools::small_profile();
    look.profile.pid = 4711;
    return look;
  }
  const std::vector<uint64_t> pids_{4711};
};

class LivePageTest : public ::testing::Test {
 protected:
  // All that a viewer is told until he knows all there is: the types of the events.
  std::string told() {
    std::string types;
    for (std::string event = page_.event_after(&place_); !event.empty(); event = page_.event_after(&place_)) {
      EXPECT_THAT(event, StartsWith("event: "));
      EXPECT_EQ(event.substr(event.size() - 2), "\n\n");
      types += event.substr(7, event.find('\n') - 7) + " ";
      last_event_ = event;
    }
    return types;
  }

  Looks looks_;
  LivePage page_{&looks_, "process 4711"};
  ViewerPlace place_;
  std::string last_event_;
};

TEST_F(LivePageTest, AViewerIsToldTheFirstLookThenWhatChanged) {
  EXPECT_EQ(looks_.asked, 1u);
  EXPECT_EQ(told(), "first state ");
  EXPECT_EQ(told(), "");
  page_.look();
  page_.look();
  EXPECT_EQ(told(), "look ") << "both at once";
  ViewerPlace another;
  EXPECT_THAT(page_.event_after(&another), HasSubstr("event: first\nid: 1\n"));
  EXPECT_THAT(page_.event_after(&another), HasSubstr("event: look\nid: 3\n"));
}

TEST_F(LivePageTest, WhoComesBackGoesOnFromWhereHeWas) {
  page_.look();
  EXPECT_EQ(page_.place_after("2").look, 2u);
  EXPECT_EQ(page_.place_after("3").look, 0u) << "not yet";
  for (const char* text : {"", "x", "2x", "-1", "99999999999999999999"}) {
    EXPECT_EQ(page_.place_after(text).look, 0u) << text;
  }
}

TEST_F(LivePageTest, LooksOnlyWhileSomebodyWatches) {
  EXPECT_FALSE(page_.next_look(false));
  EXPECT_TRUE(page_.next_look(true));
  page_.look();
  EXPECT_FALSE(page_.next_look(false));
}

TEST(LivePage, TheNextLookWaitsForTheShareOfTheProcessorThatOneTakes) {
  static std::chrono::milliseconds step;
  static std::chrono::nanoseconds used;
  step = {};
  used = {};
  Looks looks;
  LivePage page(&looks, "process 4711", {}, nullptr, nullptr, [] { return used += step; });
  // The pause from a look's beginning to the next look lies between the two, in ms: when it began is not told.
  const auto pause = [&] {
    const auto before = PageSource::Clock::now();
    page.look();
    const auto late = PageSource::Clock::now() - before;
    const auto next = page.next_look(true).value() - before;
    return std::make_pair(std::chrono::duration<double, std::milli>(next - late).count(),
                          std::chrono::duration<double, std::milli>(next).count());
  };
  const auto holds = [](double ms) { return Pair(Le(ms + 0.001), Ge(ms - 0.001)); };
  EXPECT_THAT(pause(), holds(1000)) << "a look that costs nothing: every second";
  step = std::chrono::milliseconds(10);
  EXPECT_THAT(pause(), holds(1000)) << "0.56 s would do";
  step = std::chrono::milliseconds(100);
  EXPECT_THAT(pause(), holds(5600));
  const auto next = page.next_look(true).value();
  ViewerPlace place;
  EXPECT_THAT(page.event_after(&place), StartsWith("event: first"));
  const std::chrono::duration<double> later = page.next_look(true).value() - next;
  EXPECT_NEAR(later.count(), 5.6, 1e-6) << "what is sent counts, too";
}

TEST_F(LivePageTest, EachRequestLooksAnew) {
  EXPECT_THAT(page_.page(), HasSubstr("connect-src 'self'; "));
  EXPECT_EQ(looks_.asked, 2u);
  EXPECT_EQ(told(), "first look state ");
}

TEST_F(LivePageTest, TheLastLookStays) {
  looks_.is_running = false;
  looks_.error = "gone";
  page_.look();
  EXPECT_EQ(told(), "first state ");
  EXPECT_THAT(last_event_, HasSubstr(R"("ending":"process 4711 has ended")"));
  EXPECT_FALSE(page_.next_look(true));
  const size_t asked = looks_.asked;
  EXPECT_THAT(page_.page(), HasSubstr("process 4711"));
  page_.look();
  EXPECT_EQ(looks_.asked, asked);
  ViewerPlace later;
  EXPECT_THAT(page_.event_after(&later), StartsWith("event: first"));
  EXPECT_THAT(page_.event_after(&later), HasSubstr("has ended"));
}

TEST_F(LivePageTest, WhatItHeldAtItsEndIsTheLastLook) {
  looks_.is_running = false;
  looks_.has_end = true;
  page_.look();
  EXPECT_EQ(told(), "first look state ");
}

TEST_F(LivePageTest, AnErrorIsToldUntilItGoesWell) {
  EXPECT_EQ(told(), "first state ");
  looks_.error = "it cannot be read \"now\"\n";
  page_.look();
  EXPECT_EQ(told(), "state ");
  EXPECT_THAT(last_event_, HasSubstr(R"("problem":"it cannot be read \"now\"\n")"));
  page_.look();
  EXPECT_EQ(told(), "") << "once";
  looks_.error.clear();
  page_.look();
  EXPECT_EQ(told(), "look state ");
  EXPECT_THAT(last_event_, HasSubstr(R"("problem":"")"));
}

TEST_F(LivePageTest, LooksThatShowNothingNewAreNotTold) {
  EXPECT_EQ(told(), "first state ");
  looks_.has_new = false;
  page_.look();
  EXPECT_EQ(told(), "");
  looks_.has_new = true;
  page_.look();
  EXPECT_EQ(told(), "look ");
}

TEST_F(LivePageTest, APartOfTheTimeIsAFile) {
  const auto own = page_.file("between-0-1500");
  ASSERT_TRUE(own);
  EXPECT_THAT(profile::gunzip(own->content, "test", 1 << 20), HasSubstr("insert(int)")) << "the look of now";
  looks_.has_earlier = true;
  const auto file = page_.file("between-0-1500");
  ASSERT_TRUE(file);
  EXPECT_EQ(profile::gunzip(file->content, "test", 100), "0.000000 1.500000");
  for (const char* name : {"between-", "between-1", "between-1-", "between--1", "between-1-2-3",
                           "between-1-x", "between-1-99999999999999999999999"}) {
    EXPECT_FALSE(page_.file(name)) << name;
  }
}

TEST_F(LivePageTest, TheLastLookCanBeSaved) {
  const auto file = page_.file("profile.pb.gz");
  ASSERT_TRUE(file);
  EXPECT_THAT(file->name, ::testing::MatchesRegex("memprof\\.4711\\.[0-9]+\\.pb\\.gz"));
  EXPECT_THAT(file->content, StartsWith("\x1f\x8b"));
  EXPECT_FALSE(page_.file("../profile.pb.gz"));
  EXPECT_FALSE(page_.file(""));
}

TEST(LivePage, RecordsWhetherSomebodyWatchesOrNot) {
  const testing_tools::Folder folder;
  Looks looks;
  LivePage::Recording recording;
  recording.choice.pattern = folder / "%p.series";
  recording.choice.every_ns = 1'000'000'000;
  recording.process.pid = 4711;
  recording.process.program = "server";
  LivePage page(&looks, "process 4711", recording);
  EXPECT_TRUE(page.next_look(false));
  looks.is_running = false;
  looks.has_end = true;
  page.look();
  EXPECT_THAT(page.summary(), HasSubstr("4711.series: 2 looks")) << "the first, and the end";
  EXPECT_FALSE(page.next_look(false));
  EXPECT_THAT(page.page(), Not(HasSubstr("no look")));
  Looks other;
  EXPECT_THROW(LivePage(&other, "process 4711", recording), Failure) << "the file is there already";
}

}  // namespace
}  // namespace memprof::cli
