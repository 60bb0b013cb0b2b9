// SPDX-License-Identifier: Apache-2.0
// Assembler for hooks that call a function of ours and then jump to the real one, which so has the hook's caller for its
// own.  None of those functions has more than three arguments, all of them integers or pointers; they are kept across the call,
// at which the stack is aligned.
//
// MEMPROF_OPEN_HOOK(name): the weak function `name`, which calls memprof_before_NAME and jumps to where that says.
// MEMPROF_LOADER_HOOK(name, offset, before): the hidden function memprof_hook_NAME, which calls `before` and jumps to the address
// that lies `offset` bytes behind memprof_real_loader.
#pragma once

#define MEMPROF_KEEP_ARGUMENTS             \
  "pushq %rdi\n.cfi_adjust_cfa_offset 8\n" \
  "pushq %rsi\n.cfi_adjust_cfa_offset 8\n" \
  "pushq %rdx\n.cfi_adjust_cfa_offset 8\n"
#define MEMPROF_TAKE_ARGUMENTS             \
  "popq %rdx\n.cfi_adjust_cfa_offset -8\n" \
  "popq %rsi\n.cfi_adjust_cfa_offset -8\n" \
  "popq %rdi\n.cfi_adjust_cfa_offset -8\n"

#define MEMPROF_OPEN_HOOK(name)                                                                   \
  __asm__(                                                                                        \
      ".pushsection memprof_hooks,\"ax\",@progbits\n"                                             \
      ".p2align 4\n"                                                                              \
      ".weak " #name                                                                              \
      "\n"                                                                                        \
      ".type " #name ",@function\n" #name                                                         \
      ":\n"                                                                                       \
      ".cfi_startproc\n"                                                                          \
      "endbr64\n" MEMPROF_KEEP_ARGUMENTS "call memprof_before_" #name "\n" MEMPROF_TAKE_ARGUMENTS \
      "jmp *%rax\n"                                                                               \
      ".cfi_endproc\n"                                                                            \
      ".size " #name ", .-" #name                                                                 \
      "\n"                                                                                        \
      ".popsection\n")

#define MEMPROF_LOADER_HOOK(name, offset, before)                                    \
  __asm__(                                                                           \
      ".pushsection memprof_hooks,\"ax\",@progbits\n"                                \
      ".p2align 4\n"                                                                 \
      ".globl memprof_hook_" #name                                                   \
      "\n"                                                                           \
      ".hidden memprof_hook_" #name                                                  \
      "\n"                                                                           \
      ".type memprof_hook_" #name                                                    \
      ",@function\n"                                                                 \
      "memprof_hook_" #name                                                          \
      ":\n"                                                                          \
      ".cfi_startproc\n"                                                             \
      "endbr64\n" MEMPROF_KEEP_ARGUMENTS "call " #before "\n" MEMPROF_TAKE_ARGUMENTS \
      "jmp *memprof_real_loader+" #offset                                            \
      "(%rip)\n"                                                                     \
      ".cfi_endproc\n"                                                               \
      ".size memprof_hook_" #name ", .-memprof_hook_" #name                          \
      "\n"                                                                           \
      ".popsection\n")
