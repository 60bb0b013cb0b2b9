// SPDX-License-Identifier: Apache-2.0
// Makes a stopped thread execute a program of calls, and puts the thread back as it was.
//
// Model: below the process's first stack, where nothing has ever been, lie a signal frame that restores the thread,
// the program, and the stack that it runs on; the thread's own stack is not touched.  The code page is mapped by
// the C library's mmap, which returns into the signal frame, and so does everything else that the thread is made
// to do: whenever this process is killed, the thread goes on as if a signal handler had run.
//
//   room for the calls | program | room for mmap | signal frame | untouched | where the stack ended before
//
// Signals: none but those of faults reach the thread meanwhile.
// Threads: one.
// Failure: throws Failure with status 1; the thread is as it was, but for a call that goes on for too long: it is
//   left alone, and returns by the frame.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "memprof/attach/processor/call_program.h"
#include "memprof/attach/target/survey.h"
#include "memprof/attach/thread/safe_point.h"
#include "memprof/attach/thread/traced_thread.h"

namespace memprof::cli {

class RemoteCall {
 public:
  // `thread` is stopped at `point`.
  RemoteCall(const Target& target, TracedThread* thread, SafePoint point);
  RemoteCall(const RemoteCall&) = delete;
  RemoteCall& operator=(const RemoteCall&) = delete;

  // Where a program is to lie.
  uint64_t program_address() const { return program_at_; }
  // Where rt_sigreturn begins, for CallProgram.
  uint64_t context_address() const;
  // Where the program has to store the thread's sigaltstack.
  uint64_t alternate_stack_address() const;

  // Called while the thread waits for an answer (CallStep::kAwait), once: reads what it needs, returns the answer.
  using Answer = std::function<uint32_t(const TargetMemory& memory)>;
  // Called when the program is done, before the thread goes on: `image` is the program with its results.
  using Results = std::function<void(const std::string& image, const TargetMemory& memory)>;
  // Called with a name before each step, for tests.
  using Observer = std::function<void(const char* step)>;

  // Executes it, puts the thread back and lets it go.
  void run(const CallProgram& program, const Answer& answer, const Results& results,
           const Observer& observer);

  // How long the thread stood still, or executed the program.
  int64_t pause_ns() const { return pause_ns_; }

 private:
  void make_room();
  bool is_room_of_before(const MemoryRange& stack) const;
  void save();
  int64_t call_system(const char* function, long number, const std::array<uint64_t, 6>& arguments);
  void wait_until_done(const Answer& answer);
  void restore();
  [[noreturn]] void fail(const std::string& why) const;
  [[noreturn]] void fail_as(TracedThread::Stop stop) const;

  const Target& target_;
  TracedThread& thread_;
  SafePoint point_;
  uint64_t frame_at_ = 0;
  uint64_t program_at_ = 0;
  uint64_t code_at_ = 0;
  std::string vectors_;
  uint64_t signal_mask_ = 0;
  int64_t pause_ns_ = 0;
};

// In a call's image.
int64_t result_of(const std::string& image, size_t step);

}  // namespace memprof::cli
