// SPDX-License-Identifier: Apache-2.0
// A breakpoint of the processor in a process of our own, so that another's is not the only one of the system.
//
// Model: with the first one the kernel changes its own code and waits until all processors have been elsewhere
// (synchronize_rcu), 8 to 20 ms; the thread that gets it would be stopped so long.
//
// Threads: one.
// Owns: a child that does nothing, until the end.
// Failure: where it cannot be made, there is none; the thread waits longer.
#pragma once

#include <sys/types.h>

#include <memory>

#include "memprof/attach/thread/traced_thread.h"

namespace memprof::cli {

class FirstBreakpoint {
 public:
  FirstBreakpoint() = default;
  ~FirstBreakpoint();
  FirstBreakpoint(const FirstBreakpoint&) = delete;
  FirstBreakpoint& operator=(const FirstBreakpoint&) = delete;

  // The first time; later calls do nothing.
  void make();
  bool is_made() const { return is_made_; }

 private:
  pid_t child_ = 0;
  bool is_made_ = false;
  std::unique_ptr<TracedThread> thread_;
};

}  // namespace memprof::cli
