// SPDX-License-Identifier: Apache-2.0
// capture_stack of the seam by libunwind, in builds with MEMPROF_USE_LIBUNWIND: to compare with, and for
// machines that the engine's own unwinder does not know.  Slower by three orders of magnitude, and libunwind
// may take the loader's lock.
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "platform/linux/memory/stack_bounds.h"
#include "platform/linux/stack/operator_frames.h"
#include "platform/posix/fork_handler.h"
#include "platform/stack.h"
#include "unwind/walk/frame_list.h"

namespace memprof::platform {

bool has_stack_for_walk(const Entry& entry, size_t more_bytes) {
  constexpr uint64_t kOfWalk = 16384;  // its cursor and context
  return stack_left(reinterpret_cast<uint64_t>(entry.frame_address)) >= kOfWalk + more_bytes;
}

WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  // The frame of the hook: what lies below it is ours.
  const unw_word_t hook = reinterpret_cast<unw_word_t>(entry.frame_address);
  unw_context_t context;
  unw_cursor_t cursor;
  if (unw_getcontext(&context) != 0 || unw_init_local(&cursor, &context) != 0) {
    return {0, Walk::kNoRule};
  }
  unwind::FrameList list(frames, max_depth);
  bool at_leaf = true;
  for (;;) {
    const int step = unw_step(&cursor);
    unw_word_t pc = 0;
    unw_word_t sp = 0;
    if (step < 0) {
      return list.end(step == -UNW_ENOINFO ? Walk::kNoRule : Walk::kBadFrame);
    }
    unw_get_reg(&cursor, UNW_REG_IP, &pc);
    unw_get_reg(&cursor, UNW_REG_SP, &sp);
    if (step == 0 || pc == 0) {
      return list.end(Walk::kRoot);
    }
    if (at_leaf && (sp <= hook || is_left_out(pc))) {
      continue;
    }
    at_leaf = false;
    // As everywhere: one is taken away before a frame is looked up, which is wrong for what a signal
    // interrupted.
    if (!list.add(unw_is_signal_frame(&cursor) > 0 ? pc + 1 : pc)) {
      return list.end(Walk::kDepthLimit);
    }
  }
}

WalkResult walk_native(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  return capture_stack(entry, frames, max_depth);
}

}  // namespace memprof::platform
