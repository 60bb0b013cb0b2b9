// SPDX-License-Identifier: Apache-2.0
#include "runtime/merge.h"

namespace memprof::runtimes {

uint32_t find_frame(const NativeStack& native, uint64_t address, uint32_t from) {
  // Where the walk could not leave the loop: more than its frame has.
  constexpr uint64_t kMaxLoopBytes = 1024;
  const uint32_t depth = native.walk.depth;
  if (address == 0 || from >= depth) {
    return kNotFound;
  }
  uint64_t low = native.stack_pointers[from];
  for (uint32_t i = from; i + 1 < depth; ++i) {
    const uint64_t high = native.stack_pointers[i + 1];
    if (low <= address && address < high) {
      return i;
    }
    low = high;
  }
  return low <= address && address < low + kMaxLoopBytes ? depth - 1 : kNotFound;
}

platform::WalkResult leave_native(const NativeStack& native, uint64_t* frames, uint32_t max_depth) {
  unwind::FrameList out(frames, max_depth);
  for (uint32_t i = 0; i < native.walk.depth; ++i) {
    if (!out.add(native.frames[i])) {
      return out.end(platform::Walk::kDepthLimit);
    }
  }
  return out.end(native.walk.reason);
}

}  // namespace memprof::runtimes
