// SPDX-License-Identifier: Apache-2.0
// A system call of Linux, by the instruction.
//
// Threads, signals: as the call.  Failure: a result in [-4095, -1], which is -errno.
#pragma once

namespace memprof::cpu {

inline long system_call(long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  register long r10 __asm__("r10") = a3;
  register long r8 __asm__("r8") = a4;
  register long r9 __asm__("r9") = a5;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a0), "S"(a1), "d"(a2), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

}  // namespace memprof::cpu
