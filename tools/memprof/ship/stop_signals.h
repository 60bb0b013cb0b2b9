// SPDX-License-Identifier: Apache-2.0
// Waits until it is time, or SIGINT, SIGTERM or SIGHUP asks the command to end.
//
// Signals: these are blocked while an object lives, so make it before threads.
// Threads: one object at a time.
#pragma once

#include <signal.h>

namespace memprof::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // true: it is to end.
  bool wait(double seconds);

 private:
  sigset_t signals_{};
  sigset_t before_{};
};

}  // namespace memprof::cli
