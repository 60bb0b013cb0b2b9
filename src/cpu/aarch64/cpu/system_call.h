// SPDX-License-Identifier: Apache-2.0
// A system call of Linux, by the instruction.
//
// Threads, signals: as the call.  Failure: a result in [-4095, -1], which is -errno.
#pragma once

namespace memprof::cpu {

inline long system_call(long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  register long x8 __asm__("x8") = number;
  register long result __asm__("x0") = a0;
  register long x1 __asm__("x1") = a1;
  register long x2 __asm__("x2") = a2;
  register long x3 __asm__("x3") = a3;
  register long x4 __asm__("x4") = a4;
  register long x5 __asm__("x5") = a5;
  __asm__ volatile("svc #0" : "+r"(result) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return result;
}

}  // namespace memprof::cpu
