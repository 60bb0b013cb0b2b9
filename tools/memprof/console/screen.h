// SPDX-License-Identifier: Apache-2.0
// The terminal as a screen that frames are drawn on, with keys read one by one.
//
// Model: the terminal's other screen is used, by sequences that every terminal of today and xterm's children
// know; a frame is written row by row, and only the rows that changed.
//
// Signals: SIGINT, SIGTERM, SIGHUP, SIGQUIT and those of a crash put the terminal back as it was, and then do
// what they did.  SIGTSTP puts it back and stops; a process that goes on draws everything again.  SIGWINCH
// ends a wait.
// Threads: at most one object; handlers run in any thread.
// Owns: the state of the terminal, and the handlers of these signals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "memprof/console/key_reader.h"
#include "profile/live/live_key.h"
#include "profile/text/cells.h"

namespace memprof::cli {

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Whether standard input and output are a terminal that frames can be drawn on.
  static bool is_possible();

  size_t rows() const;
  size_t columns() const;
  // `has_color`: else bold and reverse alone.
  void draw(const profile::Cells& cells, bool has_color);

  // Waits at most so long for keys, or until the window has another size; less than 0: without a limit.
  std::vector<profile::LiveKey> wait_for_keys(double seconds);
  // The terminal is gone: no key will come.
  bool is_closed() const { return is_closed_; }

 private:
  void read_input(std::vector<profile::LiveKey>* keys);
  void take_wakes();

  KeyReader reader_;
  std::vector<std::string> drawn_;  // rows, as they stand there; none: it has to be cleared
  size_t drawn_columns_ = 0;
  bool is_closed_ = false;
};

}  // namespace memprof::cli
