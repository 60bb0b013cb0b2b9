// SPDX-License-Identifier: Apache-2.0
// The rule by which a frame is left whose code no table describes, read from the code itself: what it does to the stack
// pointer from here to its return.
//
// Model, x86-64: the instructions from an address on are followed, past calls, over both sides of branches, until each way
// returns, jumps to another function, or calls one that never returns.  What is popped on the way is what the frame holds.
// All ways that return must say the same.  A function of which no way returns is the first of its stack, if the caller says
// that such code is where stacks begin (start code of a C library).
// Other processors: no rule.
//
// Threads, signals: pure.
// Allocates: never; 1.5 KiB of stack.
// Failure: false: the code says different things, or is too long to be followed.
#pragma once

#include <cstdint>

#include "unwind/tables/rule.h"

namespace memprof::platform {

// Machine code that may be read.
struct CodeRange {
  uint64_t start;
  uint64_t limit;
  bool begins_stacks;  // code that never returns is where stacks begin
};

// `pc`: the next instruction.  `is_noreturn`: does the function at an address never return?
bool find_code_rule(uint64_t pc, const CodeRange& code, bool (*is_noreturn)(uint64_t function),
                    unwind::Rule* rule);

}  // namespace memprof::platform
