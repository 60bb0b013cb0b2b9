// SPDX-License-Identifier: Apache-2.0
// The terminal as a screen that is drawn over and over, with keys read one by one.
//
// Signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT put the terminal back as it was, and then do what they did.
// Threads: at most one object, in a program with one thread.
// Owns: the state of the terminal.
#pragma once

#include <cstddef>
#include <string>

namespace memprof::cli {

class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Whether standard input and output are a terminal.
  static bool is_possible();

  size_t rows() const;
  void draw(const std::string& text);

  // Waits at most so long for a key; 0: none came (or the window has another size).
  char wait_for_key(double seconds);
};

}  // namespace memprof::cli
