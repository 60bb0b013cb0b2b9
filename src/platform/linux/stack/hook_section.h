// SPDX-License-Identifier: Apache-2.0
// Is an address in the section that every hook lies in (MEMPROF_HOOK, core/hooks/hook.h)?
#pragma once

#include <cstdint>

#include "core/hooks/hook.h"

// Made by the linker for a section whose name is a C identifier.  Weak: a program of tests may have no hooks.
extern "C" const char __start_memprof_hooks[] __attribute__((weak, visibility("hidden")));
extern "C" const char __stop_memprof_hooks[] __attribute__((weak, visibility("hidden")));

namespace memprof::platform {

inline bool is_hook_address(uint64_t address) {
  return address - reinterpret_cast<uint64_t>(__start_memprof_hooks) <
         static_cast<uint64_t>(__stop_memprof_hooks - __start_memprof_hooks);
}

}  // namespace memprof::platform
