// SPDX-License-Identifier: Apache-2.0
// Assembler for a hook that calls a function of ours and then jumps to the real one, which has the hook's caller for its
// own: keeps the first three arguments, integers or pointers, across that call.
//
// MEMPROF_KEEP_ARGUMENTS and MEMPROF_TAKE_ARGUMENTS stand around the call, which is the only one; the stack is aligned at it.
// Neither changes the register that the call returns in on x86-64 (rax); on aarch64 that is x0, an argument's, so it is
// copied to x16 first where it is wanted.
#pragma once

#if defined(__x86_64__)
#define MEMPROF_KEEP_ARGUMENTS             \
  "pushq %rdi\n.cfi_adjust_cfa_offset 8\n" \
  "pushq %rsi\n.cfi_adjust_cfa_offset 8\n" \
  "pushq %rdx\n.cfi_adjust_cfa_offset 8\n"
#define MEMPROF_TAKE_ARGUMENTS             \
  "popq %rdx\n.cfi_adjust_cfa_offset -8\n" \
  "popq %rsi\n.cfi_adjust_cfa_offset -8\n" \
  "popq %rdi\n.cfi_adjust_cfa_offset -8\n"
#elif defined(__aarch64__)
#define MEMPROF_KEEP_ARGUMENTS                                         \
  "stp x29, x30, [sp, #-48]!\n"                                        \
  ".cfi_def_cfa_offset 48\n.cfi_offset 29, -48\n.cfi_offset 30, -40\n" \
  "mov x29, sp\n"                                                      \
  "stp x0, x1, [sp, #16]\n"                                            \
  "str x2, [sp, #32]\n"
#define MEMPROF_TAKE_ARGUMENTS \
  "ldr x2, [sp, #32]\n"        \
  "ldp x0, x1, [sp, #16]\n"    \
  "ldp x29, x30, [sp], #48\n"  \
  ".cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\n"
#else
#error "write how arguments are kept on this processor"
#endif
