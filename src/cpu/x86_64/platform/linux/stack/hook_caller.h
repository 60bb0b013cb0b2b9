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
      "movq %%rbx, 0(%1)\n\tmovq %%rbp, 8(%1)\n\tmovq %%rsp, 16(%1)\n\tmovq %%r12, 24(%1)\n\t"
      "movq %%r13, 32(%1)\n\tmovq %%r14, 40(%1)\n\tmovq %%r15, 48(%1)\n\t"
      "leaq 0(%%rip), %%rcx\n\tmovq %%rcx, 56(%1)"
      : "=m"(v)
      : "a"(v)
      : "rcx");
  static_assert(unwind::kRbx == 0 && unwind::kRbp == 1 && unwind::kRsp == 2 && unwind::kR12 == 3 &&
                unwind::kR15 == 6 && unwind::kReturnAddress == 7);
  unwind::RegisterFile registers{};
  for (uint8_t r = 0; r < unwind::kRegisters; ++r) {
    registers.set(r, v[r]);
  }
  return registers;
}

// The hook keeps a frame pointer, so its caller's registers are known without a table.
[[gnu::always_inline]] inline unwind::Start start_of(const Entry& entry, const unwind::Surroundings&) {
  const uint64_t* saved = static_cast<const uint64_t*>(entry.frame_address);
  return {saved[1], reinterpret_cast<uint64_t>(entry.frame_address) + 2 * sizeof(uint64_t), saved[0]};
}

}  // namespace memprof::platform
