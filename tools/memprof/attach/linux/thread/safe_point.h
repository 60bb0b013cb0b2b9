// SPDX-License-Identifier: Apache-2.0
// Stops a thread where it can be made to load a library: where it holds no lock that this would take.
//
// Model: the stack of the stopped thread is walked.  A frame in unsafe code (unsafe_code.h), or a restartable
// sequence under way: the thread goes on and is stopped again when it has run.  No breakpoint waits for it outside of that code:
// the kernel leaves breakpoints in a thread whose tracer was killed, and its next trap ends the program.
//
// It is the process's first thread, if that is met outside of unsafe code and of transfers (stop_moment.h) soon; else another one.
//
// Threads: one.
// Failure: throws Failure with status 1; the thread is let go then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "memprof/attach/linux/processor/processor.h"
#include "memprof/attach/linux/target/survey.h"
#include "memprof/attach/linux/target/target_memory.h"
#include "memprof/attach/linux/thread/own_stack.h"
#include "memprof/attach/linux/thread/remote_stack.h"
#include "memprof/attach/linux/thread/traced_thread.h"

namespace memprof::cli {

struct SafePoint {
  processor::Registers registers;  // as the thread is to go on
  TargetMemory memory;             // of the program that was stopped
  OwnStack own_stack;              // of another than the process's first thread
  bool repeats_call = false;       // as TracedThread::take_repeated_call() says
  int stops = 0;
  int64_t stopped_ns = 0;        // when the last stop was, on the clock of monotonic_ns()
  int64_t longest_pause_ns = 0;  // of those before
};

// What a survey knows for the walks of a process's stacks.
RemoteStack::Places places_in(const Target& target);

// Whether a stopped thread may be made to load a library.
struct SafeVerdict {
  bool is_safe = false;
  std::string why;  // what it is in
};
SafeVerdict judge(const Target& target, const TargetMemory& memory, RemoteStack& walker,
                  const TracedThread& thread, const processor::Registers& registers);

// How long a thread is tried.
struct Patience {
  int stops = 400;
  int64_t ns = 10'000'000'000;
  int64_t moment_ns = 300'000'000;  // of it, for moments outside of transfers
};

// Of this thread.
SafePoint reach_safe_point(const Target& target, RemoteStack& walker, TracedThread* thread);
// Of any; which one, in *thread.
SafePoint reach_any_safe_point(const Target& target, RemoteStack& walker,
                               std::unique_ptr<TracedThread>* thread);

}  // namespace memprof::cli
