// SPDX-License-Identifier: Apache-2.0
// How a hook is called.  Every hook has a name of our own, memprof_hook_malloc for malloc, which the linker
// does not export: import tables that are patched at run time point there.  In the interposer the same
// function also has the name that the program calls.
//
// MEMPROF_LOCAL_HOOKS: only the names of our own are made, so that linking the hooks interposes nothing.
#pragma once

#include "core/hooks/hook.h"

#if defined(MEMPROF_LOCAL_HOOKS)
#define MEMPROF_DEFINE_HOOK(type, name, parameters)                                                  \
  extern "C" MEMPROF_HOOK __attribute__((visibility("hidden"))) type memprof_hook_##name parameters; \
  extern "C" MEMPROF_HOOK __attribute__((visibility("hidden"))) type memprof_hook_##name parameters
#else
// A second name by the assembler: the compiler would compare the attributes that it knows of malloc.
#define MEMPROF_DEFINE_HOOK(type, name, parameters)                                                  \
  __asm__(".globl memprof_hook_" #name "\n.hidden memprof_hook_" #name "\n.type memprof_hook_" #name \
          ", %function\n.set memprof_hook_" #name ", " #name);                                       \
  extern "C" MEMPROF_HOOK __attribute__((visibility("default"))) type name parameters
#endif
