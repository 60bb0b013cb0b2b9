// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/mixed_stack.h"

#include "runtime/cpython/runs.h"
#include "runtime/merge.h"

namespace memprof::cpython {
namespace {

using platform::Walk;
using platform::WalkResult;
using runtimes::NativeStack;

bool is_small_function(const NativeStack& native, uint64_t address) {
  constexpr uint64_t kMaxBytes = 8192;
  const uint64_t bytes = native.code->function_bytes(address);
  return bytes != 0 && bytes < kMaxBytes;
}

StackRange range_of(const NativeStack& native) {
  return native.walk.depth != 0 ? StackRange{native.stack_pointers[0], native.stack_high} : StackRange{};
}

template <typename Memory>
WalkResult merge(const RunningThread& thread, const NativeStack& native, uint64_t* frames,
                 uint32_t max_depth) {
  Runs<Memory, Pass::kEncode> runs(*thread.interpreter, *thread.layout, thread.state, range_of(native));
  return runtimes::merge_runs(&runs, {shows_evaluation_loop(), thread.has_tail_calls}, native, frames,
                              max_depth);
}

// Looks at a stack of an interpreter whose layout is not known to be right yet.
void look_at(const RunningThread& thread, const NativeStack& native) {
  Runs<CheckedMemory, Pass::kLook> runs(*thread.interpreter, *thread.layout, thread.state, range_of(native));
  Run run;
  uint32_t at = 0;
  bool has_place = false;
  bool has_tail_calls =
      is_small_function(native, reinterpret_cast<uint64_t>(thread.interpreter->evaluation_loop));
  while (runs.next(&run)) {
    if (!runs.is_sound(run)) {
      return settle(false, false);
    }
    const uint32_t loop = runtimes::find_frame(native, run.boundary, at);
    if (run.boundary != 0 && loop == runtimes::kNotFound && native.walk.reason == Walk::kRoot) {
      return settle(false, false);
    }
    if (run.count != 0 && loop != runtimes::kNotFound) {
      has_place = true;
      // The part of the loop that runs: compilers split functions.
      has_tail_calls = has_tail_calls && is_small_function(native, native.frames[loop] - 1);
      at = loop + 1;
    }
  }
  if (has_place) {
    settle(true, has_tail_calls);
  }
}

}  // namespace

WalkResult merge_frames(const RunningThread& thread, const NativeStack& native, uint64_t* frames,
                        uint32_t max_depth) {
  if (!thread.is_checked) {
    if (!native.has_signal_frame && native.walk.depth != 0) {
      look_at(thread, native);
    }
    const RunningThread again = running_thread();
    return again.is_checked ? merge_frames(again, native, frames, max_depth)
                            : runtimes::leave_native(native, frames, max_depth);
  }
  if (thread.is_attached && !native.has_signal_frame) {
    return merge<DirectMemory>(thread, native, frames, max_depth);
  }
  const WalkResult merged = merge<CopiedMemory>(thread, native, frames, max_depth);
  return may_be_gone(thread) ? runtimes::leave_native(native, frames, max_depth) : merged;
}

}  // namespace memprof::cpython
