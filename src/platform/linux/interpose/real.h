// SPDX-License-Identifier: Apache-2.0
// The allocation functions behind us: libc's, or those of an allocator that is loaded behind this library.
//
// Model: a table of pointers that is valid before any code of ours ran: each points to a stub at first, which
// looks all of them up (once) and goes on to what it found.  So a hook ends in one indirect jump, however
// early it is called.  While one thread is looking up, calls from inside dlsym, and from other threads, are
// served from a small region of our own (bootstrap): nobody waits for anybody.
//
// Threads: the stubs may race; the table is filled by one thread, with release stores of single pointers.
// Owns: bootstrap memory, which is never given back and which the filter marks for ever, so that free and
// realloc notice it on their slow paths.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

namespace memprof::interpose {

// Other threads may be in a hook and read the slot: a pointer is stored in one piece.
template <typename Function>
void publish(Function*& slot, Function* function) {
  __atomic_store_n(&slot, function, __ATOMIC_RELEASE);
}

struct Real {
  void* (*malloc)(size_t);
  void (*free)(void*);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  int (*posix_memalign)(void**, size_t, size_t);
  void* (*aligned_alloc)(size_t, size_t);
  void* (*memalign)(size_t, size_t);
  void* (*valloc)(size_t);
  void* (*pvalloc)(size_t);
  size_t (*malloc_usable_size)(void*);
  void (*free_sized)(void*, size_t);
  void (*free_aligned_sized)(void*, size_t, size_t);
};
extern Real g_real __attribute__((visibility("hidden")));

// What programs' calls come to where an allocator is loaded in front of us, and so takes and gives their blocks.  nullptr:
// ours.  A function of ours that it lacks goes to these for what libc's own would call: libc's reallocarray calls realloc.
struct Front {
  void* (*realloc)(void*, size_t);
  void (*free)(void*);
};
extern Front g_front __attribute__((visibility("hidden")));

// Looks everything up if nobody did.  After it returned in one thread, that thread's calls go to the real
// functions.
void resolve();

// The operators of C++ that ours go on to (behind_operators.h).  In the usual case, where all that they would do is
// malloc and free, none is set.  nullptr: ours calls malloc or free itself.
struct ForeignOperators {
  bool present;  // one of them is set
  // The form serves blocks without calling malloc, so they must be sampled here; otherwise it ends in malloc,
  // where they are.  Each form for itself: jemalloc's aligned ones call aligned_alloc, its plain ones nobody.
  bool sampled_plain[2];
  bool sampled_nothrow[2];
  // In the order of Form (operator_forms.h).
  void* (*new_plain[2])(size_t);  // [1]: the array form
  void* (*new_nothrow[2])(size_t, const void*);
  void* (*new_aligned[2])(size_t, size_t);
  void* (*new_aligned_nothrow[2])(size_t, size_t, const void*);
  void (*delete_plain[2])(void*);
  void (*delete_sized[2])(void*, size_t);
  void (*delete_nothrow[2])(void*, const void*);
  void (*delete_aligned[2])(void*, size_t);
  void (*delete_sized_aligned[2])(void*, size_t, size_t);
  void (*delete_aligned_nothrow[2])(void*, size_t, const void*);
};
inline constexpr size_t kFirstOperator = offsetof(ForeignOperators, new_plain);
static_assert(sizeof(ForeignOperators) == kFirstOperator + 20 * sizeof(void*));
extern ForeignOperators g_foreign __attribute__((visibility("hidden")));

// The functions that map memory, likewise.  Until they are known, system calls do what libc's functions do; the
// break, of which libc keeps a copy, is libc's in any case.
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
