// SPDX-License-Identifier: Apache-2.0
// Where a walk begins: the registers of this function, and the caller of a hook.
//
// Signals, fork: pure.  Allocates: never.
#pragma once

#include <cstdint>

#include "platform/stack.h"
#include "unwind/walk/table_walk.h"

namespace memprof::platform {

// The registers that calls keep, and a place in the function that this is inlined into.
[[gnu::always_inline]] inline unwind::RegisterFile own_registers() {
  uint64_t v[unwind::kRegisters];
  asm volatile(
      "stp x19, x20, [%1]\n\tstp x21, x22, [%1, #16]\n\tstp x23, x24, [%1, #32]\n\t"
      "stp x25, x26, [%1, #48]\n\tstp x27, x28, [%1, #64]\n\t"
      "adr x9, .\n\tstp x29, x9, [%1, #80]\n\tmov x9, sp\n\tstr x9, [%1, #96]"
      : "=m"(v)
      : "r"(v)
      : "x9");
  static_assert(unwind::kX19 == 0 && unwind::kX29 == 10 && unwind::kReturnAddress == 11 && unwind::kSp == 12);
  unwind::RegisterFile registers{};
  for (uint8_t r = 0; r < unwind::kRegisters; ++r) {
    registers.set(r, v[r]);
  }
  return registers;
}

// Inlined: the place that it begins in must stay on the stack.
[[gnu::always_inline]] inline unwind::Start start_of(const Entry& entry,
                                                     const unwind::Surroundings& surroundings) {
  const unwind::RegisterFile own = own_registers();
  const unwind::Start here{own.values[unwind::kReturnAddress], own.values[unwind::kSp],
                           own.values[unwind::kX29]};
  return unwind::find_caller(here, reinterpret_cast<uint64_t>(entry.frame_address),
                             surroundings.find_stack(here.sp), surroundings);
}

}  // namespace memprof::platform
