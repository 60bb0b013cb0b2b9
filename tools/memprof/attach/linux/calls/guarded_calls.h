// SPDX-License-Identifier: Apache-2.0
// A program of calls that leaves the thread as a signal handler has to: with its errno, and cancellation as before.
//
// Threads: no state but its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memprof/attach/linux/calls/remote_call.h"
#include "memprof/attach/linux/processor/call_program.h"
#include "memprof/attach/linux/target/survey.h"

namespace memprof::cli {

class GuardedCalls {
 public:
  // Begins with what keeps the thread's state.
  GuardedCalls(const Target& target, const RemoteCall& remote);

  // Each returns the number of its step.
  size_t system_call(long number, uint64_t first, uint64_t second);
  size_t system_call_with_result(long number, size_t result_of_step);
  // Of the C library, by name; the result has 64 bits.
  size_t function(const char* name, uint64_t first = 0, uint64_t second = 0);
  size_t function_with_result(const char* name, size_t result_of_step, uint64_t second);
  // A function that returns an int: by its address, or at the address that a step has had as its result.
  size_t int_function(uint64_t address, uint64_t first);
  size_t int_function_of_result(size_t result_of_step, uint64_t first);
  // Waits for the attacher's answer.
  size_t await();

  uint64_t data(std::string_view data) { return program_.add_data(data); }
  // When the step fails, those behind it are left out.
  void may_fail(size_t step, CallStep::Failure failure) { failures_.push_back({step, failure}); }

  // Adds the last steps, which are executed whatever has failed.  To be called once, at the end.
  const CallProgram& finish();
  uint64_t address_of_result(size_t step) const { return program_.address_of_result(step); }

 private:
  struct MayFail {
    size_t step;
    CallStep::Failure failure;
  };

  const Target& target_;
  CallProgram program_;
  size_t errno_location_ = 0;
  size_t errno_ = 0;
  uint64_t cancel_state_at_ = 0;
  std::vector<MayFail> failures_;
};

}  // namespace memprof::cli
