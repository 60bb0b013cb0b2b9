// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/live_fixture.h"

namespace memprof::profile {
namespace {

using live_fixture::look_at;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LiveText, TheFirstLookShowsWhatIsHeld) {
  LiveModel model;
  LiveLook look = look_at(0, 3, 100);
  look.resident_bytes = 50 << 20;
  model.look(look);
  const std::string text = live_text(model, 10, {});
  EXPECT_THAT(text, HasSubstr("server (pid 4711)"));
  EXPECT_THAT(text, HasSubstr("Live: 3.0 MiB in 3 blocks; resident: 50.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("0 s ago: 0 B; allocates 0 B/s\n"));
  EXPECT_THAT(text, HasSubstr("leak.c:7"));
  EXPECT_THAT(text, Not(HasSubstr("churn")));
}

TEST(LiveText, LaterLooksShowGrowthAndSpeed) {
  LiveModel model;
  model.look(look_at(0, 3, 100));
  model.look(look_at(2, 4, 120));
  model.look(look_at(4, 8, 160));
  const std::string text = live_text(model, 10, {});
  EXPECT_THAT(text, HasSubstr("4 s ago: +5.0 MiB; allocates 22.0 MiB/s\n"));
  EXPECT_THAT(text, ContainsRegex("8.0 MiB .*\\+5.0 MiB +2.0 MiB/s +leak"));
  EXPECT_THAT(text, ContainsRegex("0 B .* 0 B +20.0 MiB/s +churn"));
  EXPECT_THAT(text, Not(HasSubstr("resident")));
  EXPECT_THAT(live_text(model, 1, {}), Not(HasSubstr("churn"))) << "as many rows as wanted";
}

TEST(LiveText, WithoutASampleItSaysSo) {
  LiveModel model;
  LiveLook look;
  look.profile = report_fixture::Builder(1 << 20).profile();
  model.look(look);
  EXPECT_THAT(live_text(model, 10, {}), HasSubstr("No allocation was sampled yet."));
  LiveChoice choice;
  choice.is_tree = true;
  model.choose(choice);
  EXPECT_THAT(live_text(model, 10, {}), HasSubstr("No allocation was sampled yet."));
}

TEST(LiveText, AFilterIsSaid) {
  LiveModel model;
  model.look(look_at(0, 3, 100));
  LiveChoice choice;
  choice.filter.focus = Pattern("nothing");
  model.choose(choice);
  const std::string text = live_text(model, 10, {});
  EXPECT_THAT(text, HasSubstr("matches 'nothing'"));
  EXPECT_THAT(text, HasSubstr("Nothing of these stacks is live."));
}

TEST(LiveText, TheColumnOfTheOrderStaysOnANarrowTerminal) {
  LiveModel model;
  model.look(look_at(0, 8, 1));
  model.look(look_at(1, 9, 90));
  TextOptions narrow;
  for (narrow.width = 50; narrow.width < 100; narrow.width += 10) {
    for (const LiveSort sort :
         {LiveSort::kBlocks, LiveSort::kCumulative, LiveSort::kGrowth, LiveSort::kAllocates}) {
      LiveChoice choice;
      choice.sort = sort;
      model.choose(choice);
      EXPECT_THAT(live_text(model, 10, narrow), HasSubstr(std::string(" ") + live_sort_name(sort) + " "));
    }
  }
}

TEST(LiveText, ShowsATree) {
  report_fixture::Builder b;
  const uint32_t main = b.at("main");
  b.stack({b.at("leak"), main}, 1 << 20, 3).stack({b.at("keep"), main}, 1 << 20, 1);
  LiveChoice choice;
  choice.is_tree = true;
  LiveModel model(choice);
  LiveLook look;
  look.profile = b.profile();
  model.look(look);
  EXPECT_THAT(live_text(model, 10, {}), ContainsRegex("4.0 MiB .* main\n3.0 MiB .* leak\n1.0 MiB .* keep\n"));
  EXPECT_THAT(live_text(model, 1, {}), Not(HasSubstr("leak")));
  b.stack({b.at("leak"), main}, 1 << 20, 2);
  look.profile = b.profile();
  model.look(look);
  EXPECT_THAT(live_text(model, 10, {}),
              ContainsRegex(" growth .*\n.*\\+2.0 MiB +main\n.*\\+2.0 MiB .*leak\n.* 0 B .*keep\n"));
}

}  // namespace
}  // namespace memprof::profile
