// SPDX-License-Identifier: Apache-2.0
// Evaluates the DWARF expressions that occur in unwind tables (DWARF 5, 2.5): arithmetic on registers and on
// words of the stack.
//
// Signals, fork: pure; reads the expression's bytes and the given stack only.
// Allocates: never; 0.5 KiB of stack.
// Failure: false for everything that is not understood, too long, or reads elsewhere.
#pragma once

#include <cstdint>

#include "unwind/tables/eh_frame.h"
#include "unwind/tables/stack_memory.h"

namespace memprof::unwind {

struct RegisterFile {
  uint64_t values[kRegisters];
  uint32_t known;  // bit r: values[r] is right

  bool has(uint8_t r) const { return r < kRegisters && (known >> r & 1) != 0; }
  void set(uint8_t r, uint64_t value) {
    values[r] = value;
    known |= 1u << r;
  }
  void forget(uint8_t r) { known &= ~(1u << r); }
};

// `cfa` is on the evaluation's stack at first when `push_cfa`.
bool evaluate(const Expression& expression, const RegisterFile& registers, StackMemory& stack, bool push_cfa,
              uint64_t cfa, uint64_t* result);

}  // namespace memprof::unwind
