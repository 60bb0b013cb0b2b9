// SPDX-License-Identifier: Apache-2.0
// The section that every hook lies in, so that a frame of ours is known by its address, whether we are a
// library of our own or linked into the program.
#pragma once

#include <cstdint>

#define MEMPROF_HOOK __attribute__((section("memprof_hooks")))

// Made by the linker for a section whose name is a C identifier.  Weak: a program of tests may have no hooks.
extern "C" const char __start_memprof_hooks[] __attribute__((weak, visibility("hidden")));
extern "C" const char __stop_memprof_hooks[] __attribute__((weak, visibility("hidden")));

namespace memprof::platform {

inline bool is_hook_address(uint64_t address) {
  return address - reinterpret_cast<uint64_t>(__start_memprof_hooks) <
         static_cast<uint64_t>(__stop_memprof_hooks - __start_memprof_hooks);
}

}  // namespace memprof::platform
