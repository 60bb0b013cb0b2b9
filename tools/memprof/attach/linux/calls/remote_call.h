// SPDX-License-Identifier: Apache-2.0
// Makes a stopped thread execute a program of calls, and puts the thread back as it was.
//
// Model: below the process's first stack, where nothing has ever been (or on the own stack of another thread than the first one), lie a signal frame that restores the thread,
// the program, and the stack that it runs on; the thread's own stack is not touched.  The code page is mapped by
// a system call that is made in the C library's code and returns into the signal frame, and so does everything else that the thread is made
// to do: whenever this process is killed, the thread goes on as if a signal handler had run.  So it does when this process is late
// (stopped, frozen, without a processor): what is written and when is told by protocol.h.
//
//   room for the calls | program | room for mmap | signal frame | untouched | where the stack ended before
//
// Signals: none but those of faults reach the thread meanwhile.
// Threads: one.
// Failure: throws Failure with status 1; the thread is as it was, or it is left alone, and returns by the frame.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "memprof/attach/call_times.h"
#include "memprof/attach/linux/calls/protocol.h"
#include "memprof/attach/linux/processor/call_program.h"
#include "memprof/attach/linux/target/survey.h"
#include "memprof/attach/linux/thread/safe_point.h"
#include "memprof/attach/linux/thread/traced_thread.h"

namespace memprof::cli {

class RemoteCall {
 public:
  // `thread` is stopped at `point`.
  RemoteCall(const Target& target, TracedThread* thread, SafePoint point, const CallTimes& times = {});
  RemoteCall(const RemoteCall&) = delete;
  RemoteCall& operator=(const RemoteCall&) = delete;

  // Where a program is to lie.
  uint64_t program_address() const { return program_at_; }
  // Where rt_sigreturn begins, for CallProgram.
  uint64_t context_address() const;
  // Where the program has to store the thread's sigaltstack.
  uint64_t alternate_stack_address() const;
  const CallTimes& times() const { return times_; }

  // Called while the thread, stopped, waits for an answer (CallStep::kAwait): reads what it needs, returns the answer.
  using Answer = std::function<uint32_t(const TargetMemory& memory)>;
  // Called when the program is done: `image` is the program with its results.
  using Results = std::function<void(const std::string& image, const TargetMemory& memory)>;
  // Called with a name before each step, for tests.
  using Observer = std::function<void(const char* step)>;

  // Executes it, and puts the thread back, or leaves it to do that itself.
  void run(const CallProgram& program, const Answer& answer, const Results& results,
           const Observer& observer);

  // How long the thread stood still, or executed the program.
  int64_t pause_ns() const { return pause_ns_; }

 private:
  void make_room();
  bool is_room_of_before(const MemoryRange& stack) const;
  void save();
  void perform(protocol::Operation operation);
  void enter(long number, const std::array<uint64_t, 6>& arguments);
  void run_behind_call();
  void look_behind_call();
  void write_program();
  void write_answer();
  void read_word();
  void stop();
  void stop_as_event();
  void prove();
  bool is_behind_call(const processor::Registers& now) const;
  void read_results();
  void let_go();
  void report(protocol::Phase phase, protocol::Seen seen, bool has_results) const;
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail_as(TracedThread::Stop stop) const;

  const Target& target_;
  TracedThread& thread_;
  SafePoint point_;
  CallTimes times_;
  uint64_t frame_at_ = 0;
  uint64_t program_at_ = 0;
  uint64_t code_at_ = 0;
  std::string vectors_;
  uint64_t signal_mask_ = 0;
  int64_t pause_ns_ = 0;

  // Of one run.
  std::string image_;
  Answer answer_;
  bool is_answered_ = false;
  Results results_;
  protocol::Seen seen_ = protocol::Seen::kSafePoint;
  long call_ = -1;            // the system call that it was made to make
  uint64_t behind_call_ = 0;  // where it stands behind that; 0: it was not seen there
  uint64_t stack_in_call_ = 0;
  int64_t end_ns_ = 0;
  std::string error_;
};

// In a call's image.
int64_t result_of(const std::string& image, size_t step);

}  // namespace memprof::cli
