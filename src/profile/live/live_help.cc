// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_help.h"

namespace memprof::profile {

const std::vector<LiveHelp>& live_help() {
  static const std::vector<LiveHelp> kHelp = {
      {"l b c g a", "order by live, blocks, cumulative, growth, allocation rate"},
      {"t", "tree of calls, or table"},
      {"1 2 3 4 5 6 7", "a row for each function, line, file, module, heap, process, thread"},
      {"m", "metric: live, allocated since the start, peak"},
      {"/", "focus: only stacks with a frame that matches an expression"},
      {"\\", "ignore: without such stacks"},
      {"Enter", "focus on the row that is chosen; Esc: everything again"},
      {"Up Down j k", "choose a row; PgUp, PgDn, Home, End: go further"},
      {"z", "count growth from now on"},
      {"Space p", "pause, go on"},
      {"r", "look now"},
      {"+ -", "look half as often, twice as often"},
      {"q", "quit; Ctrl-C, too; Ctrl-Z suspends"},
      {"", ""},
      {"live", "bytes allocated and not freed"},
      {"cumulative", "the same with all that the function calls"},
      {"growth", "since the view began, or z; allocates: a second, freed or not"},
  };
  return kHelp;
}

const std::vector<LiveHint>& live_hints() {
  static const std::vector<LiveHint> kHints = {
      {"?", "help"},     {"q", "quit"},         {"lbcga", "order"}, {"t", "tree"},     {"1-6", "by"},
      {"m", "metric"},   {"/", "focus"},        {"Space", "pause"}, {"z", "from now"}, {"\\", "ignore"},
      {"Enter", "this"}, {"Esc", "everything"}, {"+-", "interval"},
  };
  return kHints;
}

}  // namespace memprof::profile
