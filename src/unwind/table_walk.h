// SPDX-License-Identifier: Apache-2.0
// Walks a stack by the unwind tables of the loaded modules; by frame pointers through code that has none.
//
// Model: each frame is left by a rule (unwind/rule.h) that is looked up by its address, in the cache or, the
// first time, in the module's .eh_frame.  A frame whose rule does not fit in a cache word makes the walk
// start again with all registers and the full evaluator (walk_with_all_registers): 0.04 % of code.
//
// Nothing is believed: each frame must lie above the one before and inside the stack.
//
// Threads: any number.
// Signals: safe.
// Allocates: never; at most 4 KiB of stack.
#pragma once

#include <cstdint>

#include "core/platform.h"
#include "unwind/eh_frame.h"
#include "unwind/expression.h"
#include "unwind/stack_memory.h"

namespace memprof::unwind {

// What the walk must ask of its surroundings.
struct Surroundings {
  // The tables of the module that contains an address.  false: it is in no module, or that has none.
  bool (*find_image)(uint64_t address, Image* image);
  // For code that no table describes: may this be a return address?  Must be safe for any value.
  bool (*is_call_site)(uint64_t return_address);
  // The stack that a stack pointer is on: a signal handler can run on another one than what it interrupted.
  StackBounds (*find_stack)(uint64_t stack_pointer);
  // Is it in a hook of ours?  Such frames are left out, at the leaf end.
  bool (*is_hook)(uint64_t return_address);
};

// Where a walk begins: in a caller, right after its call returned.
struct Start {
  uint64_t pc;
  uint64_t sp;
  uint64_t bp;
};

// Writes the return addresses from start.pc on, leaf first.  *needs_all_registers becomes true when a frame
// cannot be left with these three; what was written is then right so far.
platform::WalkResult walk_by_tables(const Start& start, const StackBounds& bounds,
                                    const Surroundings& surroundings, uint64_t* frames, uint32_t max_depth,
                                    bool* needs_all_registers);

// The same with all registers that calls keep, from any frame inside us: frames up to the one whose CFA is
// `first_cfa` are not written.
platform::WalkResult walk_with_all_registers(RegisterFile registers, uint64_t first_cfa,
                                             const StackBounds& bounds, const Surroundings& surroundings,
                                             uint64_t* frames, uint32_t max_depth);

}  // namespace memprof::unwind
