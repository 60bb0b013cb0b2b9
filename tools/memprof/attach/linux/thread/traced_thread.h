// SPDX-License-Identifier: Apache-2.0
// One thread of another process, stopped and let go by ptrace without a signal.  The others run on.  A system call
// that a stop has interrupted is repeated by the kernel, unless a signal handler runs.
//
// Signals: what the thread gets meanwhile is passed on to it.
//   SIGCHLD, by which the kernel tells of stops, is blocked while an object lives.
// Threads: the one that made the object; of several objects the youngest goes first.
// Failure: a thread that is gone is Stop::kGone; when this process is killed, the kernel lets the thread go on.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

#include "memprof/attach/linux/processor/processor.h"

namespace memprof::cli {

class TracedThread {
 public:
  enum class Stop {
    kEvent,  // as asked for by interrupt(): from here the kernel repeats system calls that it interrupted
    kGroup,  // by SIGSTOP and the like
    kSystemCall,  // before or after one, where to_system_call() was asked for
    kTimeout,     // it runs on
    kGone
  };
  explicit TracedThread(pid_t thread);
  // Lets it go on, if it is stopped.
  ~TracedThread();
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;

  // 0, or the errno of ptrace: it cannot be traced.
  int error() const { return error_; }
  pid_t id() const { return thread_; }
  bool is_stopped() const { return is_stopped_; }

  // Stops it soon, wherever it is; wait() says when.
  void ask_to_stop();
  // Stops it wherever it is.
  Stop interrupt(int64_t timeout_ns);
  // Of a stopped thread: stops it anew as an event, without any code of the program between.
  Stop to_event(int64_t timeout_ns);
  // Of a stopped thread: runs it to the begin or the end of its next system call.
  Stop to_system_call(int64_t timeout_ns);
  bool resume();
  // Whether the thread, stopped by an event, repeats a system call also if a signal handler runs first; then a stop
  // ends that call when it goes on.  Who lets it do something else meanwhile takes this, and gives it back when the
  // registers are.
  bool take_repeated_call();
  void give_back_repeated_call() { repeats_call_ = true; }
  // Until it stops by itself.
  Stop wait(int64_t timeout_ns);
  // Lets it go for good; what was set of it stays.
  void detach();

  bool signal_mask(uint64_t* mask) const;
  bool set_signal_mask(uint64_t mask) const;
  // Whether it executes a restartable sequence (rseq(2)), which must not be left and entered again.
  bool is_in_restartable_sequence() const;

 private:
  enum class Resume { kRun, kToSystemCall };
  Stop wait_while(Resume how, int64_t timeout_ns);
  bool resume_as(Resume how, int signal);
  long ask_for_event(int64_t patience_ns);
  void repeat_interrupted_call();
  void end_call_if_signalled();

  pid_t thread_;
  int error_ = 0;
  bool is_stopped_ = false;
  bool is_event_ = false;  // stopped by an event, or with all others
  bool is_gone_ = false;
  bool repeats_call_ = false;
  processor::WaitingCall waits_in_;
  sigset_t signals_before_{};
};

int64_t monotonic_ns();

}  // namespace memprof::cli
