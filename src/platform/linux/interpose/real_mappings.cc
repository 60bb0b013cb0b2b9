// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/real.h"

#include <errno.h>
#include <sys/syscall.h>

#include "platform/linux/libc/c_library.h"
#include "platform/linux/memory/system_call.h"

// Where libc is linked statically, its sbrk has another name, too.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): libc's names
void* __sbrk(intptr_t increment) __attribute__((weak));
int __brk(void* end) __attribute__((weak));
// NOLINTEND(bugprone-reserved-identifier)
}

namespace memprof::interpose {
namespace {

using platform::system_call;

void* first_mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  return reinterpret_cast<void*>(system_call(SYS_mmap, reinterpret_cast<long>(address),
                                             static_cast<long>(size), protection, flags, fd, offset));
}

int first_munmap(void* address, size_t size) {
  return static_cast<int>(
      system_call(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(size), 0, 0, 0, 0));
}

void* first_mremap(void* address, size_t old_size, size_t new_size, int flags, void* new_address) {
  return reinterpret_cast<void*>(system_call(SYS_mremap, reinterpret_cast<long>(address),
                                             static_cast<long>(old_size), static_cast<long>(new_size), flags,
                                             reinterpret_cast<long>(new_address), 0));
}

// dlsym may be asked: who moves the break is no signal handler, and holds no lock of the loader that it may not
// take again.
template <typename Function>
Function* look_up(const char* name, Function* otherwise) {
  void* const found = platform::libc::find_next(name);
  return found != nullptr ? reinterpret_cast<Function*>(found) : otherwise;
}

int first_brk(void* end) {
  int (*const real)(void*) = look_up("brk", &__brk);
  if (real == nullptr) {
    errno = ENOMEM;
    return -1;
  }
  return real(end);
}

void* first_sbrk(intptr_t increment) {
  void* (*const real)(intptr_t) = look_up("sbrk", &__sbrk);
  if (real == nullptr) {
    errno = ENOMEM;
    return reinterpret_cast<void*>(-1);
  }
  return real(increment);
}

template <typename Function>
void publish_found(Function*& slot, Function* found) {
  if (found != nullptr) {
    publish(slot, found);
  }
}

template <typename Function>
void find(Function*& slot, const char* name) {
  publish_found(slot, reinterpret_cast<Function*>(platform::libc::find_next(name)));
}

}  // namespace

RealMappings g_real_mappings{first_mmap, first_mmap, first_munmap, first_mremap, first_brk, first_sbrk};

void set_real_mappings(const RealMappings& found) {
  RealMappings& real = g_real_mappings;
  publish_found(real.mmap, found.mmap);
  publish_found(real.mmap64, found.mmap64);
  publish_found(real.munmap, found.munmap);
  publish_found(real.mremap, found.mremap);
  publish_found(real.brk, found.brk);
  publish_found(real.sbrk, found.sbrk);
}

void resolve_mappings() {
  RealMappings& real = g_real_mappings;
  find(real.mmap, "mmap");
  find(real.mmap64, "mmap64");
  find(real.munmap, "munmap");
  find(real.mremap, "mremap");
  find(real.brk, "brk");
  find(real.sbrk, "sbrk");
}

}  // namespace memprof::interpose
