// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "profile/names/short_name.h"
#include "tests/profile/live_fixture.h"

namespace memprof::profile {
namespace {

using live_fixture::look_at;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = LiveKey::Kind;

LiveView two_looks(size_t width, size_t height) {
  LiveView view({}, 2);
  view.look(look_at(0, 3, 100));
  view.look(look_at(2, 4, 120));
  view.set_size(width, height, true);
  return view;
}

TEST(LiveFrame, SaysBesideANameWhatALineOfPythonAllocatesThroughAndForWhom) {
  const auto row_of = [](size_t width) {
    LiveView view({}, 2);
    view.look(live_fixture::arrays_at(0, 3));
    view.set_size(width, 13, true);
    return draw_live(view).row_text(5);
  };
  EXPECT_THAT(row_of(220), HasSubstr("ones  for prices (app.py:4) through array_empty  "));
  EXPECT_THAT(row_of(150), HasSubstr("ones  for prices (app.py:4)  "));
  EXPECT_THAT(row_of(150), Not(HasSubstr("through")));
  EXPECT_THAT(row_of(30), Not(HasSubstr("for ")));
}

void press_all(LiveView* view, const std::string& text) {
  for (const char c : text) view->press({Kind::kText, std::string(1, c)});
}

TEST(LiveFrame, OfEightyColumns) {
  EXPECT_EQ(draw_live(two_looks(80, 13)).text(),
            R"(server (pid 4711), 12 s sampled at 0 (every allocation)                every 2 s
Live: 4.0 MiB in 4 blocks
Growth in 2 s: +1.0 MiB; allocates 10.5 MiB/s
By function, live, ordered by live
     ▼live   cumulative       growth     allocates  function
   4.0 MiB      4.0 MiB     +1.0 MiB   512.0 KiB/s  leak
       0 B          0 B          0 B    10.0 MiB/s  churn





? help  q quit  lbcga order  t tree  1-6 by  m metric  / focus  Space pause
)");
}

TEST(LiveFrame, OfOneHundredAndTwentyColumns) {
  EXPECT_EQ(
      draw_live(two_looks(120, 13)).text(),
      R"(server (pid 4711), 12 s sampled at 0 (every allocation)                                                        every 2 s
Live: 4.0 MiB in 4 blocks
Growth in 2 s: +1.0 MiB; allocates 10.5 MiB/s
By function, live, ordered by live
     ▼live       %     blocks   cumulative       growth     allocates  function                        file:line
   4.0 MiB  100.0%          4      4.0 MiB     +1.0 MiB   512.0 KiB/s  leak                            leak.c:7
       0 B    0.0%          0          0 B          0 B    10.0 MiB/s  churn                           server





? help  q quit  lbcga order  t tree  1-6 by  m metric  / focus  Space pause  z from now  \ ignore  Enter this
)");
}

TEST(LiveFrame, OfTwoHundredAndFiftyColumns) {
  EXPECT_EQ(
      draw_live(two_looks(250, 13)).text(),
      R"(server (pid 4711), 12 s sampled at 0 (every allocation)                                                                                                                                                                                          every 2 s
Live: 4.0 MiB in 4 blocks
Growth in 2 s: +1.0 MiB; allocates 10.5 MiB/s
By function, live, ordered by live
     ▼live       ±       %                 blocks   cumulative       growth     allocates  function                                                                                                  file:line
   4.0 MiB      0%  100.0%  ██████████          4      4.0 MiB     +1.0 MiB   512.0 KiB/s  leak                                                                                                      leak.c:7
       0 B            0.0%                      0          0 B          0 B    10.0 MiB/s  churn                                                                                                     server





? help  q quit  lbcga order  t tree  1-6 by  m metric  / focus  Space pause  z from now  \ ignore  Enter this  Esc everything  +- interval
)");
}

TEST(LiveFrame, OfFewRowsHasWhatMattersMost) {
  const std::string text = draw_live(two_looks(40, 4)).text();
  EXPECT_THAT(text, HasSubstr("server (pid 4711)"));
  EXPECT_THAT(text, HasSubstr("▼live"));
  EXPECT_THAT(text, HasSubstr("4.0 MiB"));
  EXPECT_THAT(text, HasSubstr("? help"));
}

// Nothing moves sideways: a column ends where it ended, whatever the numbers are.
TEST(LiveFrame, ColumnsStayWhereTheyAre) {
  LiveView view = two_looks(120, 20);
  const auto ends = [&view] {
    const std::string text = draw_live(view).text();
    const std::string titles = text.substr(text.rfind('\n', text.find("allocates  function")) + 1);
    return std::pair(titles.find("blocks"), titles.find("function"));
  };
  const auto before = ends();
  view.look(look_at(4, 100000, 12000000));
  EXPECT_EQ(ends(), before);
  EXPECT_THAT(draw_live(view).text(), HasSubstr("97.7 GiB"));
}

TEST(LiveFrame, GrowthIsRedAndShrinkageGreen) {
  LiveView view = two_looks(100, 13);
  EXPECT_THAT(draw_live(view).row_sequence(2, true), HasSubstr("\x1b[0;31m+1.0 MiB"));
  view.look(look_at(4, 1, 130));
  EXPECT_THAT(draw_live(view).row_sequence(2, true), HasSubstr("\x1b[0;32m-2.0 MiB"));
  for (size_t row = 0; row < 13; ++row) {
    EXPECT_THAT(draw_live(view).row_sequence(row, false), Not(HasSubstr(";3"))) << "no colour";
  }
}

TEST(LiveFrame, WhatIsTypedStandsInTheLastLine) {
  LiveView view = two_looks(80, 13);
  press_all(&view, "/le");
  EXPECT_EQ(draw_live(view).row_text(12), "Focus (Enter, Esc): le");
  press_all(&view, "(");
  view.press({Kind::kEnter, ""});
  EXPECT_THAT(draw_live(view).row_text(11), HasSubstr("missing"));
  view.press({Kind::kBackspace, ""});
  view.press({Kind::kEnter, ""});
  EXPECT_EQ(draw_live(view).row_text(3), "By function, live, ordered by live; focus 'le'");
  press_all(&view, "\\" + std::string(300, 'x') + "y");
  const std::string line = draw_live(view).row_text(12);
  EXPECT_LT(text_width(line), 80U);
  EXPECT_THAT(line, ::testing::EndsWith("xy")) << "the end is what is being typed";
}

TEST(LiveFrame, PauseAndEndAreSaid) {
  LiveView view = two_looks(80, 13);
  press_all(&view, "p");
  EXPECT_THAT(draw_live(view).row_text(0), ::testing::EndsWith("PAUSED"));
  view.end("process 4711 has ended");
  EXPECT_THAT(draw_live(view).row_text(0), ::testing::EndsWith("ENDED"));
  EXPECT_EQ(draw_live(view).row_text(12), "process 4711 has ended; this is the last look; q quits");
  EXPECT_THAT(draw_live(view).text(), HasSubstr("leak")) << "the last look stays";
}

TEST(LiveFrame, HelpStandsOverTheRows) {
  LiveView view = two_looks(80, 24);
  press_all(&view, "?");
  const std::string text = draw_live(view).text();
  EXPECT_THAT(text, HasSubstr("tree of calls, or table"));
  EXPECT_THAT(text, Not(HasSubstr("churn")));
}

TEST(LiveFrame, ShowsATree) {
  LiveView view = two_looks(80, 13);
  press_all(&view, "t");
  const std::string text = draw_live(view).text();
  EXPECT_THAT(text, HasSubstr("Tree of calls, live\n"));
  EXPECT_THAT(text, HasSubstr("main → leak\n"));
}

TEST(LiveFrame, GrowthIsRedAndShrinkageGreenInTheTree) {
  const auto look = [](uint64_t seconds, uint64_t grown, uint64_t shrunk) {
    report_fixture::Builder builder;
    const uint32_t main = builder.at("main");
    builder.stack({builder.at("grows"), main}, 1 << 20, grown, grown);
    builder.stack({builder.at("shrinks"), main}, 1 << 20, shrunk, shrunk);
    LiveLook made;
    made.profile = builder.profile();
    made.profile.time_unix_ns += seconds * 1000000000;
    return made;
  };
  LiveView view({}, 2);
  view.look(look(0, 3, 3));
  view.look(look(2, 4, 1));
  view.set_size(80, 13, true);
  press_all(&view, "t");  // the first row is chosen, and has no colour of its own
  std::string with;
  std::string without;
  for (size_t row = 3; row < 12; ++row) {
    with += draw_live(view).row_sequence(row, true) + "\n";
    without += draw_live(view).row_sequence(row, false) + "\n";
  }
  EXPECT_THAT(with, HasSubstr("\x1b[0;31m+1.0 MiB\x1b[0m  ├ grows"));
  EXPECT_THAT(with, HasSubstr("\x1b[0;32m-2.0 MiB\x1b[0m  └ shrinks"));
  EXPECT_THAT(without, HasSubstr("+1.0 MiB\x1b[0m  ├ grows"));
  EXPECT_THAT(without, Not(HasSubstr(";3")));
}

TEST(LiveFrame, WideNamesStayInTheirColumn) {
  report_fixture::Builder builder;
  std::string wide;
  for (int i = 0; i < 60; ++i) wide += "中文";
  builder.stack({builder.at(wide, wide, 3)}, 1 << 20, 2)
      .stack({builder.at("plain", "plain.c", 4)}, 1 << 20, 1);
  LiveLook look;
  look.profile = builder.profile();
  LiveView view({}, 2);
  view.look(look);
  for (size_t width = 81; width < 130; ++width) {
    view.set_size(width, 13, true);
    const Cells cells = draw_live(view);
    EXPECT_LE(text_width(cells.row_text(5)), width);
    const std::string titles = cells.row_text(4);
    const size_t place = titles.find("file:line");
    if (place == std::string::npos) continue;
    const std::string row = cells.row_text(6);
    EXPECT_EQ(text_width(titles.substr(0, place)), text_width(row.substr(0, row.find("plain.c"))));
    const std::string first = cells.row_text(5);
    EXPECT_EQ(text_width(first.substr(0, first.rfind("…"))), text_width(titles.substr(0, place)));
  }
}

// Names of programs and functions come from files of others.
TEST(LiveFrame, NoNameSteersTheTerminal) {
  std::mt19937 random(11);
  for (int round = 0; round < 40; ++round) {
    report_fixture::Builder builder;
    for (int i = 0; i < 8; ++i) {
      std::string name = i % 2 == 0 ? "f" : "\x1b[2J\x1b]0;x\x07";
      for (unsigned length = random() % 300; length > 0; --length) name += static_cast<char>(random());
      builder.stack({builder.at(name, name, 1)}, 1 << 20, i + 1);
    }
    LiveLook look;
    look.profile = builder.profile();
    look.profile.program = "p\x1b[31m\n\xff";
    LiveView view({}, 2);
    view.look(look);
    const size_t width = 20 + random() % 200;
    for (const char* keys : {"c", "t", "4", "l1"}) {
      press_all(&view, keys);
      view.set_size(width, 3 + random() % 30, random() % 2 == 0);
      const Cells cells = draw_live(view);
      for (size_t row = 0; row < cells.height(); ++row) {
        const std::string text = cells.row_text(row);
        ASSERT_LE(text_width(text), width);
        for (const char c : text) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
      }
    }
  }
}

TEST(LiveFrame, WithoutUtf8ItIsAscii) {
  LiveView view = two_looks(200, 13);
  view.set_size(200, 13, false);
  for (const char* keys : {"", "t", "l", "/é"}) {
    press_all(&view, keys);
    for (const char c : draw_live(view).text()) EXPECT_GT(c, 0) << keys;
  }
}

TEST(LiveFrame, AnySizeIsDrawn) {
  LiveView view = two_looks(80, 24);
  for (size_t width = 1; width < 60; width += 3) {
    for (size_t height = 1; height < 20; ++height) {
      view.set_size(width, height, true);
      EXPECT_EQ(draw_live(view).height(), height);
      press_all(&view, "?");
      EXPECT_EQ(draw_live(view).width(), width);
      press_all(&view, "q");
    }
  }
}

}  // namespace
}  // namespace memprof::profile
