// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_view.h"

#include <gtest/gtest.h>

#include "tests/profile/live_fixture.h"

namespace memprof::profile {
namespace {

using live_fixture::look_at;
using live_fixture::names;
using Kind = LiveKey::Kind;

LiveEffect type(LiveView* view, const std::string& text) {
  LiveEffect effect = LiveEffect::kNone;
  for (const char c : text) effect = view->press({Kind::kText, std::string(1, c)});
  return effect;
}

LiveEffect press(LiveView* view, Kind kind) {
  return view->press({kind, ""});
}

// `count` functions, f0 with the most.
LiveLook many(uint64_t count, uint64_t seconds = 0) {
  report_fixture::Builder builder;
  for (uint64_t i = 0; i < count; ++i) {
    builder.stack({builder.at("f" + std::to_string(i))}, 1 << 20, 10 * (count - i));
  }
  LiveLook look;
  look.profile = builder.profile();
  look.profile.time_unix_ns += seconds * live_fixture::kSecondNs;
  return look;
}

TEST(LiveView, KeysChooseTheOrderTheRowsAndTheMetric) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  view.look(look_at(1, 6, 90));
  type(&view, "g");
  EXPECT_EQ(names(view.model()), "churn leak");
  type(&view, "4");
  EXPECT_EQ(view.model().choice().by, GroupBy::kModule);
  EXPECT_EQ(names(view.model()), "server libleak.so");
  type(&view, "1m");
  EXPECT_EQ(view.model().choice().metric, Metric::kAllocSpace);
  type(&view, "m");
  EXPECT_EQ(view.model().choice().metric, Metric::kInuseSpace) << "it has no peak";
  type(&view, "t");
  EXPECT_TRUE(view.model().choice().is_tree);
  EXPECT_EQ(view.row_count(), 1U) << "main, leak: a run of calls is a row";
  type(&view, "l");
  EXPECT_FALSE(view.model().choice().is_tree) << "an order is of a table";
  type(&view, "6t");
  EXPECT_EQ(view.model().choice().by, GroupBy::kFunction) << "a tree is of code";
}

TEST(LiveView, QEndsItButNotTheHelpOrAPrompt) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  type(&view, "?");
  EXPECT_TRUE(view.has_help());
  EXPECT_EQ(type(&view, "q"), LiveEffect::kNone);
  EXPECT_FALSE(view.has_help());
  type(&view, "/");
  EXPECT_EQ(type(&view, "q"), LiveEffect::kNone);
  press(&view, Kind::kEscape);
  EXPECT_EQ(type(&view, "q"), LiveEffect::kQuit);
}

TEST(LiveView, AFocusIsTyped) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  view.look(look_at(1, 8, 9));
  type(&view, "/chx");
  press(&view, Kind::kBackspace);
  EXPECT_EQ(view.prompt()->text, "ch");
  EXPECT_EQ(names(view.model()), "leak churn") << "not before Enter";
  press(&view, Kind::kEnter);
  EXPECT_FALSE(view.prompt());
  EXPECT_EQ(names(view.model()), "churn");
  type(&view, "/");
  EXPECT_EQ(view.prompt()->text, "ch") << "it can be changed";
  press(&view, Kind::kClearLine);
  press(&view, Kind::kEnter);
  EXPECT_EQ(names(view.model()), "leak churn");
  type(&view, "\\leak");
  press(&view, Kind::kEnter);
  EXPECT_EQ(names(view.model()), "churn");
  press(&view, Kind::kEscape);
  EXPECT_EQ(names(view.model()), "leak churn");
}

TEST(LiveView, AnExpressionThatIsNoneStaysInThePrompt) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  type(&view, "/(");
  press(&view, Kind::kEnter);
  ASSERT_TRUE(view.prompt());
  EXPECT_FALSE(view.message().empty());
  EXPECT_EQ(names(view.model()), "leak");
  type(&view, ")");
  EXPECT_TRUE(view.message().empty());
}

TEST(LiveView, ALongPromptIsLimitedAndTakesWholeCharacters) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  type(&view, "/");
  for (int i = 0; i < 2000; ++i) view.press({Kind::kText, "é"});
  EXPECT_EQ(view.prompt()->text.size(), 1000U);
  press(&view, Kind::kBackspace);
  EXPECT_EQ(view.prompt()->text.size(), 998U);
}

TEST(LiveView, EnterFocusesOnTheChosenRow) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  view.look(look_at(1, 8, 9));
  press(&view, Kind::kDown);
  press(&view, Kind::kEnter);
  EXPECT_EQ(view.model().choice().filter.focus->text(), "^churn$");
  EXPECT_EQ(names(view.model()), "churn");
  press(&view, Kind::kEscape);
  type(&view, "4");
  press(&view, Kind::kEnter);
  EXPECT_EQ(view.model().choice().by, GroupBy::kFunction) << "what is in the module";
  EXPECT_EQ(view.model().choice().filter.focus->text(), "libleak\\.so");
  EXPECT_EQ(names(view.model()), "leak");
}

TEST(LiveView, NamesAreQuotedAndWholeInAFocus) {
  report_fixture::Builder builder;
  builder.stack({builder.at("operator()(a*, b[2])")}, 1 << 20, 9)
      .stack({builder.at("xoperator()(a*, b[2])")}, 1 << 20, 1);
  LiveLook look;
  look.profile = builder.profile();
  LiveView view({}, 2);
  view.look(look);
  press(&view, Kind::kEnter);
  EXPECT_EQ(names(view.model()), "operator()(a*, b[2])");
}

TEST(LiveView, TheChosenRowIsFollowedAndStaysInSight) {
  LiveView view({}, 2);
  view.set_size(80, 16, true);  // ten rows
  view.look(many(30));
  EXPECT_EQ(view.row_count(), 30U);
  press(&view, Kind::kPageDown);
  EXPECT_EQ(view.selected(), 10U);
  EXPECT_EQ(view.top(), 1U);
  press(&view, Kind::kEnd);
  EXPECT_EQ(view.selected(), 29U);
  EXPECT_EQ(view.top(), 20U);
  LiveLook next = many(30, 1);
  next.profile.stacks[29].live[0].samples = 5000;  // f29 goes to the top, and is still the one that is chosen
  view.look(next);
  EXPECT_EQ(view.selected(), 0U);
  EXPECT_EQ(view.top(), 0U);
  EXPECT_EQ(view.model().rows()[0].of->name, "f29");
  press(&view, Kind::kHome);
  view.look(many(30, 2));
  EXPECT_EQ(view.selected(), 0U) << "the first row is whatever is on top";
  press(&view, Kind::kEnd);
  view.set_size(80, 60, true);
  EXPECT_EQ(view.top(), 0U) << "all fit";
  view.look(many(3, 3));
  EXPECT_EQ(view.selected(), 2U);
  view.look(LiveLook{report_fixture::Builder(1 << 20).profile(), 0, ""});
  press(&view, Kind::kDown);
  press(&view, Kind::kEnter);
  EXPECT_EQ(view.row_count(), 0U);
}

TEST(LiveView, PausesAndLooksAtOnceWhenItGoesOn) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  EXPECT_EQ(type(&view, "p"), LiveEffect::kNone);
  EXPECT_TRUE(view.is_paused());
  EXPECT_EQ(type(&view, " "), LiveEffect::kLook);
  EXPECT_FALSE(view.is_paused());
  EXPECT_EQ(type(&view, "r"), LiveEffect::kLook);
  type(&view, "+");
  EXPECT_EQ(view.interval_s(), 4);
  type(&view, "----------");
  EXPECT_EQ(view.interval_s(), 0.1);
  view.allow_interval_s(3);
  EXPECT_EQ(view.interval_s(), 3);
  EXPECT_TRUE(view.is_held_back());
  view.allow_interval_s(0.05);
  EXPECT_EQ(view.interval_s(), 0.1);
  view.end("process 4711 has ended");
  EXPECT_EQ(type(&view, "r"), LiveEffect::kNone) << "there is nothing to look at";
  type(&view, "p");
  EXPECT_FALSE(view.is_paused());
  EXPECT_TRUE(view.has_ended());
  type(&view, "c");
  EXPECT_EQ(names(view.model()), "leak main") << "the last look can still be turned";
}

TEST(LiveView, AMessageGoesWithTheNextKey) {
  LiveView view({}, 2);
  view.look(look_at(0, 8, 1));
  view.say("cannot look");
  EXPECT_EQ(view.message(), "cannot look");
  press(&view, Kind::kOther);
  EXPECT_EQ(view.message(), "");
}

}  // namespace
}  // namespace memprof::profile
