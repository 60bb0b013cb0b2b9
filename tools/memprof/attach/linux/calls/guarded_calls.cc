// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/calls/guarded_calls.h"

#include <pthread.h>
#include <sys/syscall.h>

#include <string>

namespace memprof::cli {
namespace {

CallStep step_of(CallStep::Kind kind, uint64_t function = 0, uint64_t first = 0, uint64_t second = 0) {
  CallStep step;
  step.kind = kind;
  step.function = function;
  step.arguments[0] = first;
  step.arguments[1] = second;
  return step;
}

}  // namespace

GuardedCalls::GuardedCalls(const Target& target, const RemoteCall& remote)
    : target_(target), program_(remote.program_address(), remote.context_address(), remote.times().looks) {
  errno_location_ = function("__errno_location");
  CallStep load = step_of(CallStep::kLoad, 0, program_.address_of_result(errno_location_));
  load.indirect = CallStep::kIndirectFirst;
  errno_ = program_.add(load);
  system_call(SYS_sigaltstack, 0, remote.alternate_stack_address());
  cancel_state_at_ = program_.add_data(std::string(8, '\0'));
  function("pthread_setcancelstate", PTHREAD_CANCEL_DISABLE, cancel_state_at_);
}

size_t GuardedCalls::system_call(long number, uint64_t first, uint64_t second) {
  return program_.add(step_of(CallStep::kSystemCall, static_cast<uint64_t>(number), first, second));
}

size_t GuardedCalls::system_call_with_result(long number, size_t result_of_step) {
  CallStep step = step_of(CallStep::kSystemCall, static_cast<uint64_t>(number),
                          program_.address_of_result(result_of_step));
  step.indirect = CallStep::kIndirectFirst;
  return program_.add(step);
}

size_t GuardedCalls::function(const char* name, uint64_t first, uint64_t second) {
  return program_.add(step_of(CallStep::kFunction, target_.call(name), first, second));
}

size_t GuardedCalls::function_with_result(const char* name, size_t result_of_step, uint64_t second) {
  CallStep step =
      step_of(CallStep::kFunction, target_.call(name), program_.address_of_result(result_of_step), second);
  step.indirect = CallStep::kIndirectFirst;
  return program_.add(step);
}

size_t GuardedCalls::int_function(uint64_t address, uint64_t first) {
  CallStep step = step_of(CallStep::kFunction, address, first);
  step.is_int = 1;
  return program_.add(step);
}

size_t GuardedCalls::int_function_of_result(size_t result_of_step, uint64_t first) {
  CallStep step = step_of(CallStep::kFunction, program_.address_of_result(result_of_step), first);
  step.indirect = CallStep::kIndirectFunction;
  step.is_int = 1;
  return program_.add(step);
}

size_t GuardedCalls::await() {
  return program_.add(step_of(CallStep::kAwait));
}

const CallProgram& GuardedCalls::finish() {
  CallStep cancel = step_of(CallStep::kFunction, target_.call("pthread_setcancelstate"), cancel_state_at_);
  cancel.indirect = CallStep::kIndirectFirst;
  const size_t first_of_last = program_.add(cancel);
  CallStep store = step_of(CallStep::kStore, 0, program_.address_of_result(errno_location_),
                           program_.address_of_result(errno_));
  store.indirect = CallStep::kIndirectFirst | CallStep::kIndirectSecond;
  program_.add(store);
  for (const MayFail& each : failures_) program_.on_failure(each.step, each.failure, first_of_last);
  return program_;
}

}  // namespace memprof::cli
