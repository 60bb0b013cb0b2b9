// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/stack/mixed_stack.h"

#include "platform/linux/modules/elf_image.h"
#include "platform/linux/stack/hook_section.h"
#include "runtime/cpython/runs.h"
#include "unwind/tables/eh_frame.h"
#include "unwind/walk/frame_list.h"

namespace memprof::platform {
namespace {

using cpython::CheckedMemory;
using cpython::CopiedMemory;
using cpython::DirectMemory;
using cpython::Pass;
using cpython::Run;
using cpython::RunningThread;
using cpython::Runs;

constexpr uint32_t kNotFound = UINT32_MAX;

// The native frame, from `from` on, in whose memory `address` lies.
uint32_t find_frame(const NativeStack& native, uint64_t address, uint32_t from) {
  // Where the walk could not leave the loop: more than its frame has.
  constexpr uint64_t kMostLoopBytes = 1024;
  const uint32_t depth = native.walk.depth;
  for (uint32_t i = from; address != 0 && i < depth; ++i) {
    const uint64_t low = native.stack_pointers[i];
    const uint64_t high = i + 1 < depth ? native.stack_pointers[i + 1] : low + kMostLoopBytes;
    if (low <= address && address < high) {
      return i;
    }
  }
  return kNotFound;
}

bool is_small_function(uint64_t address) {
  constexpr uint64_t kMostBytes = 8192;
  unwind::Image image;
  unwind::FunctionRange range;
  return find_unwind_image(address, &image) &&
         unwind::find_function(image, address, &range) == unwind::Found::kYes &&
         range.limit - range.start < kMostBytes;
}

cpython::StackRange range_of(const NativeStack& native) {
  return native.walk.depth != 0 ? cpython::StackRange{native.stack_pointers[0], native.stack_high}
                                : cpython::StackRange{};
}

template <typename Memory>
WalkResult merge(const RunningThread& thread, const NativeStack& native, uint64_t* frames,
                 uint32_t max_depth) {
  unwind::FrameList out(frames, max_depth);
  uint32_t at = 0;
  const auto add_native = [&](uint32_t limit) {
    for (; at < limit; ++at) {
      // A hook of an object's realloc goes on to malloc's (runtime/cpython/object_hooks.h).
      if (!is_hook_address(native.frames[at]) && !out.add(native.frames[at])) {
        return false;
      }
    }
    return true;
  };
  const bool shows_loop = cpython::shows_evaluation_loop();
  Runs<Memory, Pass::kEncode> runs(*thread.interpreter, *thread.layout, thread.state, range_of(native));
  Run run;
  while (runs.next(&run)) {
    const uint32_t loop = find_frame(native, run.boundary, at);
    const bool is_found = loop != kNotFound;
    const uint32_t before = !is_found                            ? native.walk.depth
                            : thread.has_tail_calls && loop > at ? loop - 1
                                                                 : loop;
    const uint32_t after = is_found ? loop + 1 : native.walk.depth;
    if (!add_native(before) || !runs.each([&](uint64_t frame) { return out.add(frame); }) ||
        (shows_loop && !add_native(after))) {
      return out.end(Walk::kDepthLimit);
    }
    at = after;
  }
  return out.end(add_native(native.walk.depth) ? native.walk.reason : Walk::kDepthLimit);
}

// Looks at a stack of an interpreter whose layout is not known to be right yet.
void look_at(const RunningThread& thread, const NativeStack& native) {
  Runs<CheckedMemory, Pass::kLook> runs(*thread.interpreter, *thread.layout, thread.state, range_of(native));
  Run run;
  uint32_t at = 0;
  bool has_place = false;
  bool has_tail_calls = is_small_function(reinterpret_cast<uint64_t>(thread.interpreter->evaluation_loop));
  while (runs.next(&run)) {
    if (!runs.is_sound(run)) {
      return cpython::settle(false, false);
    }
    const uint32_t loop = find_frame(native, run.boundary, at);
    if (run.boundary != 0 && loop == kNotFound && native.walk.reason == Walk::kRoot) {
      return cpython::settle(false, false);
    }
    if (run.count != 0 && loop != kNotFound) {
      has_place = true;
      // The part of the loop that runs: compilers split functions.
      has_tail_calls = has_tail_calls && is_small_function(native.frames[loop] - 1);
      at = loop + 1;
    }
  }
  if (has_place) {
    cpython::settle(true, has_tail_calls);
  }
}

// Native frames alone.
WalkResult leave_native(const NativeStack& native, uint64_t* frames, uint32_t max_depth) {
  unwind::FrameList out(frames, max_depth);
  for (uint32_t i = 0; i < native.walk.depth; ++i) {
    if (!out.add(native.frames[i])) {
      return out.end(Walk::kDepthLimit);
    }
  }
  return out.end(native.walk.reason);
}

}  // namespace

WalkResult merge_python(RunningThread thread, const NativeStack& native, uint64_t* frames,
                        uint32_t max_depth) {
  if (!thread.is_checked) {
    if (!native.has_signal_frame && native.walk.depth != 0) {
      look_at(thread, native);
    }
    thread = cpython::running_thread();
    if (!thread.is_checked) {
      return leave_native(native, frames, max_depth);
    }
  }
  if (thread.is_attached && !native.has_signal_frame) {
    return merge<DirectMemory>(thread, native, frames, max_depth);
  }
  const WalkResult merged = merge<CopiedMemory>(thread, native, frames, max_depth);
  return cpython::may_be_gone(thread) ? leave_native(native, frames, max_depth) : merged;
}

}  // namespace memprof::platform
