// SPDX-License-Identifier: Apache-2.0
// Walks a stack by the unwind tables of the loaded modules and of code that a JIT registered some for
// (unwind/tables/registered.h); by frame pointers through code that has none.
//
// Model: each frame is left by a rule (unwind/tables/rule.h) that is looked up by its address, in the cache
// or, the first time, in the module's .eh_frame.  A frame whose rule does not fit in a cache word makes the
// walk start again with all registers and the full evaluator (walk_with_all_registers): 0.04 % of code.
//
// Nothing is believed: each frame must lie above the one before and inside the stack.
//
// Threads: any number.
// Signals: safe.
// Allocates: never; at most 4 KiB of stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/facts.h"
#include "platform/stack.h"
#include "unwind/tables/eh_frame.h"
#include "unwind/tables/expression.h"
#include "unwind/tables/rule.h"
#include "unwind/tables/stack_memory.h"
#include "unwind/walk/position.h"

namespace memprof::unwind {

class WalkMemory;

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
  // Reads memory that may not be there.  nullptr: code without a table is followed on one stack only.
  bool (*read_memory)(uint64_t address, void* bytes, size_t size_bytes) = nullptr;
  // What the call right before a return address leads to.  false: it does not say so, or that is a jump to somewhere else.
  bool (*find_call_target)(uint64_t return_address, uint64_t* target) = nullptr;
  // Is it the trampoline that signal handlers return to, which has no table?  Must be safe for any value.
  bool (*is_signal_return)(uint64_t address) = nullptr;
  // For code of a module that no table describes: what the code itself says.  false: nothing.
  bool (*find_code_rule)(uint64_t address, Rule* rule) = nullptr;
};

using Start = Position;  // the first one

// Where each frame of a walk lies, for those who have to know what else is on the stack: values[i] is the
// stack pointer in frame i; its memory reaches up to values[i + 1], as long as neither a
// signal frame nor a change of stacks lies between.
struct StackPointers {
  uint64_t* values;  // room for as many as frames
  bool has_gaps;     // the walk went through a signal frame, or on to another stack
  // nullptr: none.  Else frames and values are those of its now(); who walks ends it.
  WalkMemory* memory = nullptr;
};

// Writes the return addresses from start.pc on, leaf first; with `pointers`, the leaf's end of a stack that
// is deeper than the limit only.  *needs_all_registers becomes true when a frame cannot be left with these
// registers; what was written is then right so far.
platform::WalkResult walk_by_tables(const Start& start, const StackBounds& bounds,
                                    const Surroundings& surroundings, uint64_t* frames, uint32_t max_depth,
                                    bool* needs_all_registers, StackPointers* pointers = nullptr);

// The same with all registers that calls keep, from any frame inside us: frames up to the one whose CFA is
// `first_cfa` are not written.
platform::WalkResult walk_with_all_registers(RegisterFile registers, uint64_t first_cfa,
                                             const StackBounds& bounds, const Surroundings& surroundings,
                                             uint64_t* frames, uint32_t max_depth,
                                             StackPointers* pointers = nullptr);

#if MEMPROF_CPU_FINDS_CALLER_BY_TABLES
// A hook does not know its caller's stack pointer: frame records lie anywhere in a frame.  So the walk begins
// in a function of ours that the hook called, and this finds the caller; `hook_frame` is the hook's frame
// record.  Where our own tables do not lead there, by that record, without a stack pointer.
Start find_caller(Position inside_us, uint64_t hook_frame, const StackBounds& bounds,
                  const Surroundings& surroundings);
#endif

}  // namespace memprof::unwind
