// SPDX-License-Identifier: Apache-2.0
// The functions that map memory, behind us: libc's, or those of a library that is loaded behind this one.  Until
// they are known, system calls do what libc's functions do; the break, of which libc keeps a copy, is libc's in
// any case.
//
// Threads: single pointers, stored with release once.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

namespace memprof::interpose {

struct RealMappings {
  void* (*mmap)(void*, size_t, int, int, int, off_t);
  void* (*mmap64)(void*, size_t, int, int, int, off_t);
  int (*munmap)(void*, size_t);
  void* (*mremap)(void*, size_t, size_t, int, void*);
  int (*brk)(void*);
  void* (*sbrk)(intptr_t);
};
extern RealMappings g_real_mappings __attribute__((visibility("hidden")));

// What of `found` is not nullptr is called from now on.
void set_real_mappings(const RealMappings& found);
// The next ones in the process's scope.
void resolve_mappings();

}  // namespace memprof::interpose
