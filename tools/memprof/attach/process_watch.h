// SPDX-License-Identifier: Apache-2.0
// Waits while a profiled process runs, and keeps what it holds should it end meanwhile: a process that ends by
// itself removes its arena.
//
// Signals: SIGINT, SIGTERM and SIGHUP end a wait early; they are blocked while an object lives.
// Threads: one object at a time, in a program with one thread.
// Owns: descriptors, and a copy of the arena in a temporary folder.
// Failure: throws Failure.
#pragma once

#include <signal.h>

#include "memprof/host/process/running_process.h"
#include "memprof/io/kept_arena.h"

namespace memprof::cli {

class ProcessWatch {
 public:
  enum class End { kTime, kSignal, kProcessEnded };

  explicit ProcessWatch(RunningProcess process);
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  End wait(double seconds);

  // The process, whose arena is the copy once the process has ended.
  const RunningProcess& process() const { return process_; }

 private:
  RunningProcess process_;
  sigset_t signals_before_{};
  KeptArena arena_;
  int process_end_ = -1;  // a descriptor of the process
  int signals_ = -1;
};

}  // namespace memprof::cli
