// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/libc/c_library.h"

#include <dlfcn.h>
#include <link.h>

#include "cpu/facts.h"

// glibc's own names for its functions; its loader sets the last one.
extern "C" {
void* __libc_malloc(size_t) __attribute__((weak));
void __libc_free(void*) __attribute__((weak));
void* __libc_calloc(size_t, size_t) __attribute__((weak));
void* __libc_realloc(void*, size_t) __attribute__((weak));
void* __libc_memalign(size_t, size_t) __attribute__((weak));
extern void* __libc_stack_end __attribute__((weak));
}

namespace memprof::platform::libc {

const Libc kOwn = Libc::kGlibc;

const char* module_name(uint64_t address) {
  Dl_info info;
  void* map = nullptr;
  const bool is_known = dladdr1(reinterpret_cast<void*>(address), &info, &map, RTLD_DL_LINKMAP) != 0;
  return is_known && map != nullptr ? static_cast<link_map*>(map)->l_name : nullptr;
}

bool find_symbol(uint64_t address, const char** name, uint64_t* start) {
  Dl_info info;
  void* entry = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &info, &entry, RTLD_DL_SYMENT) == 0 ||
      info.dli_sname == nullptr || entry == nullptr) {
    return false;
  }
  // dladdr takes the nearest symbol below; a static function after it has its address, not its name.
  const auto* symbol = static_cast<const ElfW(Sym)*>(entry);
  const uint64_t begin = reinterpret_cast<uint64_t>(info.dli_saddr);
  if (address < begin || address - begin >= symbol->st_size) {
    return false;
  }
  *name = info.dli_sname;
  *start = begin;
  return true;
}

Allocator own_allocator() {
  return {&__libc_malloc, &__libc_free, &__libc_calloc, &__libc_realloc, &__libc_memalign};
}

void* find_first_version(const char* name) {
  return dlvsym(RTLD_DEFAULT, name, cpu::kFirstGlibc);
}

void* find_next(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

bool has_unwind_tables() {
  return true;
}

void learn_functions() {}

bool is_noreturn(uint64_t) {
  return false;
}

uint64_t main_stack_end() {
  return &__libc_stack_end != nullptr ? reinterpret_cast<uint64_t>(__libc_stack_end) : 0;
}

bool count_namespaces([[maybe_unused]] const r_debug* debug, [[maybe_unused]] uint64_t* count) {
#if __GLIBC_PREREQ(2, 35)
  if (debug == nullptr) {
    return false;
  }
  const auto* ours = reinterpret_cast<const r_debug_extended*>(debug);
  for (const auto* other = ours->base.r_version < 2 ? nullptr : ours->r_next; other != nullptr;
       other = other->r_next) {
    *count += other->base.r_map != nullptr ? 1 : 0;
  }
  return true;
#else
  return false;
#endif
}

}  // namespace memprof::platform::libc
