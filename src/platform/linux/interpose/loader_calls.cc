// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/loader_calls.h"

#include <errno.h>

#include <cstddef>

#include "platform/linux/interpose/kept_arguments.h"

MemprofRealLoader memprof_real_loader;

static_assert(offsetof(MemprofRealLoader, dlopen) == 0 && offsetof(MemprofRealLoader, dlmopen) == 8 &&
              offsetof(MemprofRealLoader, dlsym) == 16 && offsetof(MemprofRealLoader, dlvsym) == 24 &&
              offsetof(MemprofRealLoader, dladdr) == 32);

extern "C" void memprof_before_loader_call() {
  const int saved_errno = errno;
  memprof::platform::patch_new_imports();
  errno = saved_errno;
}

extern "C" __attribute__((visibility("hidden"))) void memprof_before_dlmopen_call(long space) {
  memprof_before_loader_call();
  if (space != 0) {  // LM_ID_BASE
    memprof::interpose::before_open_apart();
  }
}

// None of the functions has more than three arguments, all of them integers or pointers.
#if defined(__x86_64__)
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
#elif defined(__aarch64__)
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
#else
#error "write the loader's hooks for this processor"
#endif

MEMPROF_LOADER_HOOK(dlopen, 0, memprof_before_loader_call);
MEMPROF_LOADER_HOOK(dlmopen, 8, memprof_before_dlmopen_call);
MEMPROF_LOADER_HOOK(dlsym, 16, memprof_before_loader_call);
MEMPROF_LOADER_HOOK(dlvsym, 24, memprof_before_loader_call);
MEMPROF_LOADER_HOOK(dladdr, 32, memprof_before_loader_call);
