// SPDX-License-Identifier: Apache-2.0
// mmap, munmap, mremap, brk and sbrk, in front of the real ones: the program's own mappings are recorded where that
// is asked for (core/mappings/mappings.h); else each hook is a load, a test and a jump.  What the C library maps for
// itself does not come here.
//
// The slow paths are functions of their own that the hooks jump to, as those of malloc.cc.
//
// Threads, signals: as the functions they stand for.  errno: kept as the real function left it.
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#include "core/mappings/mappings.h"
#include "platform/linux/interpose/hook_name.h"
#include "platform/linux/interpose/real.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

using memprof::interpose::g_real_mappings;
namespace mappings = memprof::mappings;

namespace {

using Mmap = void*(void*, size_t, int, int, int, off_t);

// Memory of no file, and what is shared with others: memory by a name, files that are read and written as memory.  A
// private view of a file is the file's.
[[gnu::always_inline]] inline bool is_recorded(int flags) {
  const int type = flags & MAP_TYPE;
  return (flags & MAP_ANONYMOUS) != 0 || type == MAP_SHARED || type == MAP_SHARED_VALIDATE;
}

// errno is the real function's.
[[gnu::always_inline]] inline void* note_mapped(void* got, size_t size, int flags, const void* frame,
                                                const void* caller) {
  if (got != MAP_FAILED) {
    const int saved_errno = errno;
    mappings::mapped(got, mappings::round_to_pages(size), is_recorded(flags), caller, {frame});
    errno = saved_errno;
  }
  return got;
}

[[gnu::always_inline]] inline uint64_t begin_unmap() {
  const int saved_errno = errno;
  const uint64_t ticket = mappings::begin_unmap();
  errno = saved_errno;
  return ticket;
}

void* const kNoBreak = reinterpret_cast<void*>(-1);

[[gnu::always_inline]] inline void note_break(const void* before, const void* after, uint64_t ticket,
                                              const void* frame, const void* caller) {
  const int saved_errno = errno;
  const auto* const from = static_cast<const char*>(before);
  const auto* const to = static_cast<const char*>(after);
  if (from < to) {
    mappings::mapped(from, static_cast<uint64_t>(to - from), true, caller, {frame});
  } else if (to < from) {
    mappings::unmapped(to, static_cast<uint64_t>(from - to), ticket);
  }
  errno = saved_errno;
}

}  // namespace

// The hooks' parameters are called as in libc's headers.
MEMPROF_SLOW_PATH void* memprof_slow_mmap(void* address, size_t size, int protection, int flags, int fd,
                                          off_t offset) {
  return note_mapped(g_real_mappings.mmap(address, size, protection, flags, fd, offset), size, flags,
                     __builtin_frame_address(0), __builtin_return_address(0));
}

MEMPROF_DEFINE_HOOK(void*, mmap, (void* addr, size_t len, int prot, int flags, int fd, off_t offset)) {
  if (mappings::is_on()) {
    return memprof_slow_mmap(addr, len, prot, flags, fd, offset);
  }
  return g_real_mappings.mmap(addr, len, prot, flags, fd, offset);
}

MEMPROF_SLOW_PATH void* memprof_slow_mmap64(void* address, size_t size, int protection, int flags, int fd,
                                            off_t offset) {
  return note_mapped(g_real_mappings.mmap64(address, size, protection, flags, fd, offset), size, flags,
                     __builtin_frame_address(0), __builtin_return_address(0));
}

MEMPROF_DEFINE_HOOK(void*, mmap64, (void* addr, size_t len, int prot, int flags, int fd, off_t offset)) {
  if (mappings::is_on()) {
    return memprof_slow_mmap64(addr, len, prot, flags, fd, offset);
  }
  return g_real_mappings.mmap64(addr, len, prot, flags, fd, offset);
}

MEMPROF_SLOW_PATH int memprof_slow_munmap(void* address, size_t size) {
  const uint64_t ticket = begin_unmap();
  const int result = g_real_mappings.munmap(address, size);
  if (result == 0) {
    const int saved_errno = errno;
    mappings::unmapped(address, mappings::round_to_pages(size), ticket);
    errno = saved_errno;
  }
  return result;
}

MEMPROF_DEFINE_HOOK(int, munmap, (void* addr, size_t len)) {
  if (mappings::is_on()) {
    return memprof_slow_munmap(addr, len);
  }
  return g_real_mappings.munmap(addr, len);
}

MEMPROF_SLOW_PATH void* memprof_slow_mremap(void* address, size_t old_size, size_t new_size, int flags,
                                            void* new_address) {
  const uint64_t ticket = begin_unmap();
  void* const got = g_real_mappings.mremap(address, old_size, new_size, flags, new_address);
  if (got != MAP_FAILED) {
    const int saved_errno = errno;
    mappings::moved(address, mappings::round_to_pages(old_size), got, mappings::round_to_pages(new_size),
                    (flags & MREMAP_DONTUNMAP) != 0, ticket, __builtin_return_address(0),
                    {__builtin_frame_address(0)});
    errno = saved_errno;
  }
  return got;
}

MEMPROF_DEFINE_HOOK(void*, mremap, (void* addr, size_t old_len, size_t new_len, int flags, ...)) {
  // Read whether it is there or not, as libc reads it: the kernel looks at it where a flag says so.
  va_list list;
  va_start(list, flags);
  void* const new_address = va_arg(list, void*);
  va_end(list);
  if (mappings::is_on()) {
    return memprof_slow_mremap(addr, old_len, new_len, flags, new_address);
  }
  return g_real_mappings.mremap(addr, old_len, new_len, flags, new_address);
}

MEMPROF_SLOW_PATH int memprof_slow_brk(void* end) {
  void* const before = g_real_mappings.sbrk(0);
  const uint64_t ticket = begin_unmap();
  const int result = g_real_mappings.brk(end);
  if (result == 0 && before != kNoBreak) {
    note_break(before, end, ticket, __builtin_frame_address(0), __builtin_return_address(0));
  }
  return result;
}

MEMPROF_DEFINE_HOOK(int, brk, (void* end)) {
  if (mappings::is_on()) {
    return memprof_slow_brk(end);
  }
  return g_real_mappings.brk(end);
}

MEMPROF_SLOW_PATH void* memprof_slow_sbrk(intptr_t increment) {
  const uint64_t ticket = begin_unmap();
  void* const before = g_real_mappings.sbrk(increment);
  if (before != kNoBreak) {
    note_break(before, static_cast<char*>(before) + increment, ticket, __builtin_frame_address(0),
               __builtin_return_address(0));
  }
  return before;
}

MEMPROF_DEFINE_HOOK(void*, sbrk, (intptr_t increment)) {
  if (mappings::is_on()) {
    return memprof_slow_sbrk(increment);
  }
  return g_real_mappings.sbrk(increment);
}
