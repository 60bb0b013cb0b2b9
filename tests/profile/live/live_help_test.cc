// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_help.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "profile/live/live_view.h"
#include "profile/names/short_name.h"
#include "tests/profile/live_fixture.h"

namespace memprof::profile {
namespace {

TEST(LiveHelp, FitsATerminalOfEightyColumnsAndTwentyFourRows) {
  EXPECT_LE(live_help().size(), 24U - 6U);
  for (const LiveHelp& line : live_help()) {
    EXPECT_LE(text_width(line.keys), 13U) << line.keys;
    EXPECT_LE(14 + text_width(line.what), 80U) << line.what;
  }
}

// Every letter that does something is in the help: it changes what is shown, or what is to be done.
TEST(LiveHelp, NamesEveryKey) {
  std::string keys;
  for (const LiveHelp& line : live_help()) keys += std::string(line.keys) + " ";
  for (char letter = '!'; letter <= '~'; ++letter) {
    LiveView view({}, 2);
    view.look(live_fixture::look_at(0, 3, 1));
    view.look(live_fixture::look_at(1, 2, 5));
    view.set_size(80, 24, true);
    const LiveSort sort = view.model().choice().sort;
    const LiveEffect effect = view.press({LiveKey::Kind::kText, std::string(1, letter)});
    const LiveChoice& choice = view.model().choice();
    const bool does_something = effect != LiveEffect::kNone || choice.sort != sort || choice.is_tree ||
                                choice.by != GroupBy::kFunction || choice.metric != Metric::kInuseSpace ||
                                view.prompt() || view.is_paused() || view.interval_s() != 2 ||
                                view.selected() != 0 || view.model().seconds() == 0;
    if (does_something && letter != '=') {
      EXPECT_NE(keys.find(letter), std::string::npos) << letter;
    }
  }
}

}  // namespace
}  // namespace memprof::profile
