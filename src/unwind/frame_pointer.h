// SPDX-License-Identifier: Apache-2.0
// Walks a stack by frame pointers.
//
// Model: code that keeps frame pointers links its frames:
//     frame -> [ caller's frame | return address ]     at higher addresses: the older frame
// Code that does not keep them leaves anything in the register, so nothing is believed: a frame must lie
// inside the given bounds, be aligned and above the one before, and its return address must follow a call
// instruction (asked of the caller of this function, who can read code safely).
//
// Threads: no state.
// Signals, fork: pure but for `is_call_site`.
// Allocates: never.
#pragma once

#include <cstdint>

#include "core/platform.h"
#include "unwind/stack_memory.h"

namespace memprof::unwind {

struct Code {
  // Is `return_address` preceded by a call instruction?  Must be safe for any value.
  bool (*is_call_site)(uint64_t return_address);
  // Is it in the function that a thread's stack begins in?  `distance` is how far below bounds.high it was
  // found.
  bool (*is_root)(uint64_t return_address, uint64_t distance);
  // Is it in a hook of ours?  Such frames are left out.
  bool (*is_hook)(uint64_t return_address);
};

// `frame` is the frame of the hook: its return address is the first that is reported, without any check,
// because the hook itself keeps frame pointers.
platform::WalkResult walk_frame_pointers(uint64_t frame, const StackBounds& bounds, const Code& code,
                                         uint64_t* frames, uint32_t max_depth);

// Does a call instruction end right before `end`?  `end[-8..-1]` must be readable.
bool follows_call(const uint8_t* end);

// Is `code` the trampoline that a signal handler returns to?  `code[0..8]` must be readable.
bool is_signal_return(const uint8_t* code);

}  // namespace memprof::unwind
