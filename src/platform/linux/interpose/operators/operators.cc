// SPDX-License-Identifier: Apache-2.0
// Every replaceable operator new and delete of C++17, defined in front of the program's.
//
// Model: the standard library's operators are malloc and free with a new-handler and an exception for the
// case of failure.  Ours go to the real malloc and free themselves: the block is seen once, and the caller of
// the operator is the first frame.  Only when memory is refused is the standard library's operator looked up
// and called, so that handlers and exceptions are its own.  Where that is not all that happens without us (an
// allocator or a library has operators of its own, or the program has replaced a form that the standard
// library's calls), ours go on to whom the call would have come: g_foreign, each form for itself.
//
// The names are the mangled ones because this file is compiled without exceptions and serves programs without
// a C++ library, too.
#include <dlfcn.h>
#include <stdlib.h>

#include "core/engine/recorder.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/linux/interpose/hook_name.h"
#include "platform/linux/interpose/real.h"
#include "platform/linux/interpose/sample.h"
#include "platform/linux/libc/c_library.h"
#include "platform/messages.h"

using memprof::g_sampled_filter;
using memprof::sampler_tick;
using memprof::interpose::free_block;
using memprof::interpose::free_marked;
using memprof::interpose::g_foreign;
using memprof::interpose::g_real;
using memprof::interpose::sample;

namespace {

// The operator of the standard library, wherever it was loaded: after us, or by dlopen in a scope of its own.
void* find_operator(const char* name) {
  memprof::MuteScope mute;
  void* found = memprof::platform::libc::find_next(name);
  static const char* const kLibraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};
  for (const char* library : kLibraries) {
    if (found != nullptr) {
      break;
    }
    void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) {
      found = dlsym(handle, name);
      dlclose(handle);
    }
  }
  return found;
}

[[noreturn]] void no_operator(const char* name) {
  const char* const parts[] = {"out of memory in ", name, ", and no C++ library is loaded that could throw",
                               nullptr};
  memprof::platform::message(parts);
  abort();
}

// Memory was refused.  The standard operator tries again, calls the new-handler, throws.
MEMPROF_HOOK __attribute__((noinline, cold)) void* refused(size_t size, const char* name) {
  void* found = find_operator(name);
  if (found == nullptr) {
    no_operator(name);
  }
  return reinterpret_cast<void* (*)(size_t)>(found)(size);
}

MEMPROF_HOOK __attribute__((noinline, cold)) void* refused_aligned(size_t size, size_t alignment,
                                                                   const char* name) {
  void* found = find_operator(name);
  if (found == nullptr) {
    no_operator(name);
  }
  return reinterpret_cast<void* (*)(size_t, size_t)>(found)(size, alignment);
}

MEMPROF_HOOK __attribute__((noinline, cold)) void* refused_nothrow(size_t size, const void* tag,
                                                                   const char* name) {
  void* found = find_operator(name);
  return found == nullptr ? nullptr : reinterpret_cast<void* (*)(size_t, const void*)>(found)(size, tag);
}

MEMPROF_HOOK __attribute__((noinline, cold)) void* refused_aligned_nothrow(size_t size, size_t alignment,
                                                                           const void* tag,
                                                                           const char* name) {
  void* found = find_operator(name);
  return found == nullptr
             ? nullptr
             : reinterpret_cast<void* (*)(size_t, size_t, const void*)>(found)(size, alignment, tag);
}

// The standard asks for a block even where the size is 0.
size_t at_least_one(size_t size) {
  return size + (size == 0);
}

void* allocate_aligned(size_t size, size_t alignment) {
  void* block = nullptr;
  const size_t min = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return g_real.posix_memalign(&block, min, at_least_one(size)) == 0 ? block : nullptr;
}

// A foreign operator that serves its blocks itself.  It may throw, and the exception passes through us: so
// the clock is set before the call.  If the call moved the clock after all, or drew (at rate 0 the clock
// stands still), the operator ended in malloc, and the block was seen there: `*sampled` becomes false.
template <typename Allocate>
[[gnu::always_inline]] inline void* sample_foreign(size_t size, const void* frame, bool* sampled,
                                                   const Allocate& allocate) {
  const memprof::SamplingEvent event = memprof::interpose::begin_event(size);
  memprof::sampler_resume(event);
  const uint64_t drawn = memprof::t_sampler.random[0];
  void* block = allocate();
  if (memprof::t_sampler.count != event.next_count || memprof::t_sampler.random[0] != drawn) {
    *sampled = false;
    return block;
  }
  const int saved_errno = errno;
  const bool recorded = event.sampled && block != nullptr &&
                        memprof::profiler::record_allocation(block, size, event.rate_bytes, {frame});
  memprof::profiler::count_cold_path(recorded, 0);
  errno = saved_errno;
  return block;
}

bool any_foreign() {
  return __builtin_expect(g_foreign.present, 0);
}

// Does the form go on to another one?
template <typename Function>
[[gnu::always_inline]] inline bool foreign(const Function& function) {
  return any_foreign() && function != nullptr;
}

}  // namespace

// ---- new --------------------------------------------------------------------------------------------------

MEMPROF_SLOW_PATH void* memprof_slow_new(size_t size) {
  return sample(size, __builtin_frame_address(0), [=] { return g_real.malloc(at_least_one(size)); });
}

MEMPROF_SLOW_PATH void* memprof_slow_new_aligned(size_t size, size_t alignment) {
  return sample(size, __builtin_frame_address(0), [=] { return allocate_aligned(size, alignment); });
}

namespace {

#define MEMPROF_INLINE [[gnu::always_inline]] inline

MEMPROF_INLINE void* standard_new(size_t size) {
  return __builtin_expect(sampler_tick(size), 0) ? memprof_slow_new(size) : g_real.malloc(at_least_one(size));
}

MEMPROF_INLINE void* standard_new_aligned(size_t size, size_t alignment) {
  return __builtin_expect(sampler_tick(size), 0) ? memprof_slow_new_aligned(size, alignment)
                                                 : allocate_aligned(size, alignment);
}

// `function` with `arguments`, the first of which is the size.
template <typename... Arguments>
MEMPROF_HOOK __attribute__((noinline)) void* foreign_new(void* (*function)(size_t, Arguments...),
                                                         bool* sampled, size_t size, Arguments... arguments) {
  if (*sampled && sampler_tick(size)) {
    return sample_foreign(size, __builtin_frame_address(0), sampled,
                          [=] { return function(size, arguments...); });
  }
  return function(size, arguments...);
}

// Forms of new where some go on to others, each out of its fast path.  No templates: GCC leaves those out of the section
// of the hooks, whose frames no stack begins with.
#define MEMPROF_ELSEWHERE MEMPROF_HOOK __attribute__((noinline))

MEMPROF_ELSEWHERE void* plain_elsewhere(size_t size, const char* name, int array) {
  if (g_foreign.new_plain[array] != nullptr) {
    return foreign_new(g_foreign.new_plain[array], &g_foreign.sampled_plain[array], size);
  }
  void* block = standard_new(size);
  return block != nullptr ? block : refused(size, name);
}

MEMPROF_ELSEWHERE void* nothrow_elsewhere(size_t size, const void* tag, const char* name, int array) {
  if (g_foreign.new_nothrow[array] != nullptr) {
    return foreign_new(g_foreign.new_nothrow[array], &g_foreign.sampled_nothrow[array], size, tag);
  }
  void* block = standard_new(size);
  return block != nullptr ? block : refused_nothrow(size, tag, name);
}

MEMPROF_ELSEWHERE void* aligned_elsewhere(size_t size, size_t alignment, const char* name, int array) {
  if (g_foreign.new_aligned[array] != nullptr) {
    return g_foreign.new_aligned[array](size, alignment);
  }
  void* block = standard_new_aligned(size, alignment);
  return block != nullptr ? block : refused_aligned(size, alignment, name);
}

MEMPROF_ELSEWHERE void* aligned_nothrow_elsewhere(size_t size, size_t alignment, const void* tag,
                                                  const char* name, int array) {
  if (g_foreign.new_aligned_nothrow[array] != nullptr) {
    return g_foreign.new_aligned_nothrow[array](size, alignment, tag);
  }
  void* block = standard_new_aligned(size, alignment);
  return block != nullptr ? block : refused_aligned_nothrow(size, alignment, tag, name);
}

template <int kArray>
MEMPROF_INLINE void* plain(size_t size, const char* name) {
  if (any_foreign()) {
    return plain_elsewhere(size, name, kArray);
  }
  void* block = standard_new(size);
  return __builtin_expect(block != nullptr, 1) ? block : refused(size, name);
}

template <int kArray>
MEMPROF_INLINE void* nothrow(size_t size, const void* tag, const char* name) {
  if (any_foreign()) {
    return nothrow_elsewhere(size, tag, name, kArray);
  }
  void* block = standard_new(size);
  return __builtin_expect(block != nullptr, 1) ? block : refused_nothrow(size, tag, name);
}

template <int kArray>
MEMPROF_INLINE void* aligned(size_t size, size_t alignment, const char* name) {
  if (any_foreign()) {
    return aligned_elsewhere(size, alignment, name, kArray);
  }
  void* block = standard_new_aligned(size, alignment);
  return __builtin_expect(block != nullptr, 1) ? block : refused_aligned(size, alignment, name);
}

template <int kArray>
MEMPROF_INLINE void* aligned_nothrow(size_t size, size_t alignment, const void* tag, const char* name) {
  if (any_foreign()) {
    return aligned_nothrow_elsewhere(size, alignment, tag, name, kArray);
  }
  void* block = standard_new_aligned(size, alignment);
  return __builtin_expect(block != nullptr, 1) ? block : refused_aligned_nothrow(size, alignment, tag, name);
}

// A foreign operator delete: the record goes first, as for free.
template <typename... Arguments>
MEMPROF_HOOK __attribute__((noinline)) void foreign_delete(void (*function)(void*, Arguments...), void* block,
                                                           Arguments... arguments) {
  if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {
    return free_marked(block, [=] { function(block, arguments...); });
  }
  function(block, arguments...);
}

}  // namespace

MEMPROF_DEFINE_HOOK(void*, _Znwm, (size_t size)) {
  return plain<0>(size, "_Znwm");
}
MEMPROF_DEFINE_HOOK(void*, _Znam, (size_t size)) {
  return plain<1>(size, "_Znam");
}
MEMPROF_DEFINE_HOOK(void*, _ZnwmRKSt9nothrow_t, (size_t size, const void* tag)) {
  return nothrow<0>(size, tag, "_ZnwmRKSt9nothrow_t");
}
MEMPROF_DEFINE_HOOK(void*, _ZnamRKSt9nothrow_t, (size_t size, const void* tag)) {
  return nothrow<1>(size, tag, "_ZnamRKSt9nothrow_t");
}
MEMPROF_DEFINE_HOOK(void*, _ZnwmSt11align_val_t, (size_t size, size_t alignment)) {
  return aligned<0>(size, alignment, "_ZnwmSt11align_val_t");
}
MEMPROF_DEFINE_HOOK(void*, _ZnamSt11align_val_t, (size_t size, size_t alignment)) {
  return aligned<1>(size, alignment, "_ZnamSt11align_val_t");
}
MEMPROF_DEFINE_HOOK(void*, _ZnwmSt11align_val_tRKSt9nothrow_t,
                    (size_t size, size_t alignment, const void* tag)) {
  return aligned_nothrow<0>(size, alignment, tag, "_ZnwmSt11align_val_tRKSt9nothrow_t");
}
MEMPROF_DEFINE_HOOK(void*, _ZnamSt11align_val_tRKSt9nothrow_t,
                    (size_t size, size_t alignment, const void* tag)) {
  return aligned_nothrow<1>(size, alignment, tag, "_ZnamSt11align_val_tRKSt9nothrow_t");
}

// ---- delete: free, unless foreign -------------------------------------------------------------------------

MEMPROF_DEFINE_HOOK(void, _ZdlPv, (void* block)) {
  return foreign(g_foreign.delete_plain[0]) ? foreign_delete(g_foreign.delete_plain[0], block)
                                            : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdaPv, (void* block)) {
  return foreign(g_foreign.delete_plain[1]) ? foreign_delete(g_foreign.delete_plain[1], block)
                                            : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdlPvm, (void* block, size_t size)) {
  return foreign(g_foreign.delete_sized[0]) ? foreign_delete(g_foreign.delete_sized[0], block, size)
                                            : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdaPvm, (void* block, size_t size)) {
  return foreign(g_foreign.delete_sized[1]) ? foreign_delete(g_foreign.delete_sized[1], block, size)
                                            : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdlPvRKSt9nothrow_t, (void* block, const void* tag)) {
  return foreign(g_foreign.delete_nothrow[0]) ? foreign_delete(g_foreign.delete_nothrow[0], block, tag)
                                              : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdaPvRKSt9nothrow_t, (void* block, const void* tag)) {
  return foreign(g_foreign.delete_nothrow[1]) ? foreign_delete(g_foreign.delete_nothrow[1], block, tag)
                                              : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdlPvSt11align_val_t, (void* block, size_t alignment)) {
  return foreign(g_foreign.delete_aligned[0]) ? foreign_delete(g_foreign.delete_aligned[0], block, alignment)
                                              : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdaPvSt11align_val_t, (void* block, size_t alignment)) {
  return foreign(g_foreign.delete_aligned[1]) ? foreign_delete(g_foreign.delete_aligned[1], block, alignment)
                                              : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdlPvmSt11align_val_t, (void* block, size_t size, size_t alignment)) {
  return foreign(g_foreign.delete_sized_aligned[0])
             ? foreign_delete(g_foreign.delete_sized_aligned[0], block, size, alignment)
             : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdaPvmSt11align_val_t, (void* block, size_t size, size_t alignment)) {
  return foreign(g_foreign.delete_sized_aligned[1])
             ? foreign_delete(g_foreign.delete_sized_aligned[1], block, size, alignment)
             : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdlPvSt11align_val_tRKSt9nothrow_t,
                    (void* block, size_t alignment, const void* tag)) {
  return foreign(g_foreign.delete_aligned_nothrow[0])
             ? foreign_delete(g_foreign.delete_aligned_nothrow[0], block, alignment, tag)
             : free_block(block);
}
MEMPROF_DEFINE_HOOK(void, _ZdaPvSt11align_val_tRKSt9nothrow_t,
                    (void* block, size_t alignment, const void* tag)) {
  return foreign(g_foreign.delete_aligned_nothrow[1])
             ? foreign_delete(g_foreign.delete_aligned_nothrow[1], block, alignment, tag)
             : free_block(block);
}
