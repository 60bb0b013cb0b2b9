// SPDX-License-Identifier: Apache-2.0
// What the kernel says of the threads of another process, in /proc/PID/task.
//
// Threads: no state.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "memprof/attach/linux/processor/processor.h"

namespace memprof::cli {

std::vector<pid_t> threads_of(uint64_t process);

// Processor time, in ns; 0: it is gone, or this kernel does not say.
uint64_t used_ns(uint64_t process, pid_t thread);

// How often it gave its processor away by itself; 0: it is gone.
uint64_t sleeps_of(pid_t thread);

// What a thread waits in, or is about to begin.  The look only reads, so that little time passes between it and what is
// done because of it; what it saw is made out later.
class WaitLook {
 public:
  explicit WaitLook(pid_t thread);
  bool is_waiting() const { return text_[0] >= '0' && text_[0] <= '9'; }
  // Its number is -1 where the thread runs, or this is not told.
  processor::WaitingCall call() const;

 private:
  uint64_t sleeps_;
  char text_[200] = "";
};

// Whether a signal is there that it has a handler for and does not block.
bool has_signal_for_handler(pid_t thread);

struct ThreadState {
  char letter = 'X';   // as in /proc/PID/task/ID/stat; 'X': it is gone
  uint64_t flags = 0;  // PF_...

  // Of the kernel's own (io_uring), which executes nothing of the program; or it has ended.
  bool executes_nothing() const;
  // It runs or waits for a processor; or is held by a debugger, wherever it is.
  bool is_under_way() const;
};
ThreadState state_of(uint64_t process, pid_t thread);

}  // namespace memprof::cli
