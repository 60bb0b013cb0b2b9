// SPDX-License-Identifier: Apache-2.0
// A copy of an environment without libmemprof.so in its LD_PRELOAD, for programs that would not start with it; or with
// another library in its place.
//
// Model: what exec was given is read as the kernel would read it, and may be no memory, or changed by other threads
// meanwhile: measured first, copied into memory of the caller's, never more than was measured.
//
// Threads, signals, vfork children: may call it.  errno stays.
// Allocates: never.
#pragma once

#include <cstddef>

namespace memprof::platform {

// The path of the library as the loader has it, besides any that is called libmemprof.so.  Static memory.
void set_own_library(const char* path);

// Bytes that the copy takes; 0: the library is not in it, or it cannot be read.  It goes on as it is then.  `instead`: what
// stands in its place; "": nothing.
size_t environment_copy_bytes(char* const* environment, const char* instead = "");

// The copy in `memory`, of as many bytes, as aligned as a pointer.  `environment` itself where it has changed.
char* const* copy_environment(char* const* environment, void* memory, size_t size_bytes,
                              const char* instead = "");

}  // namespace memprof::platform
