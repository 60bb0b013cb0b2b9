// SPDX-License-Identifier: Apache-2.0
// Assembler for hooks that call a function of ours and then jump to the real one, which so has the hook's caller for its
// own.  None of those functions has more than three arguments, all of them integers or pointers; they are kept across the call,
// at which the stack is aligned.
//
// MEMPROF_OPEN_HOOK(name): the weak function `name`, which calls memprof_before_NAME and jumps to where that says.
// MEMPROF_LOADER_HOOK(name, offset, before): the hidden function memprof_hook_NAME, which calls `before` and jumps to the address
// that lies `offset` bytes behind memprof_real_loader.
#pragma once

// x0 is an argument's and the result's register: the result is copied to x16 first where it is wanted.
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

#define MEMPROF_OPEN_HOOK(name)                         \
  __asm__(                                              \
      ".pushsection memprof_hooks,\"ax\",%progbits\n"   \
      ".p2align 4\n"                                    \
      ".weak " #name                                    \
      "\n"                                              \
      ".type " #name ",%function\n" #name               \
      ":\n"                                             \
      ".cfi_startproc\n"                                \
      "hint #34\n" /* bti c */                          \
      MEMPROF_KEEP_ARGUMENTS "bl memprof_before_" #name \
      "\n"                                              \
      "mov x16, x0\n" MEMPROF_TAKE_ARGUMENTS            \
      "br x16\n"                                        \
      ".cfi_endproc\n"                                  \
      ".size " #name ", .-" #name                       \
      "\n"                                              \
      ".popsection\n")

#define MEMPROF_LOADER_HOOK(name, offset, before)                      \
  __asm__(                                                             \
      ".pushsection memprof_hooks,\"ax\",%progbits\n"                  \
      ".p2align 4\n"                                                   \
      ".globl memprof_hook_" #name                                     \
      "\n"                                                             \
      ".hidden memprof_hook_" #name                                    \
      "\n"                                                             \
      ".type memprof_hook_" #name                                      \
      ",%function\n"                                                   \
      "memprof_hook_" #name                                            \
      ":\n"                                                            \
      ".cfi_startproc\n"                                               \
      "hint #34\n" /* bti c */                                         \
      MEMPROF_KEEP_ARGUMENTS "bl " #before "\n" MEMPROF_TAKE_ARGUMENTS \
      "adrp x16, memprof_real_loader\n"                                \
      "add x16, x16, :lo12:memprof_real_loader\n"                      \
      "ldr x16, [x16, #" #offset                                       \
      "]\n"                                                            \
      "br x16\n"                                                       \
      ".cfi_endproc\n"                                                 \
      ".size memprof_hook_" #name ", .-memprof_hook_" #name            \
      "\n"                                                             \
      ".popsection\n")
