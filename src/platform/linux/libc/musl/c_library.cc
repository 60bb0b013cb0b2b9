// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/libc/c_library.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <atomic>

namespace memprof::platform::libc {
namespace {

constexpr uint32_t kNoReturns = 14;
std::atomic<uint64_t> g_noreturns[2 * kNoReturns];  // relaxed: who does not see them yet finds no rule

}  // namespace

const Libc kOwn = Libc::kMusl;

// The program has the name that it was started by, or the kernel's, and dlopen does not know it by that; all others have
// the path that they were loaded from.
const char* module_name(uint64_t address) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_fname == nullptr) {
    return nullptr;
  }
  Dl_info program;
  const void* const in_program = reinterpret_cast<const void*>(getauxval(AT_PHDR));
  const bool is_program = dladdr(in_program, &program) != 0 && program.dli_fbase == info.dli_fbase;
  return is_program ? "" : info.dli_fname;
}

// dladdr minds the sizes of symbols itself.
bool find_symbol(uint64_t address, const char** name, uint64_t* start) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0 || info.dli_sname == nullptr) {
    return false;
  }
  *name = info.dli_sname;
  *start = reinterpret_cast<uint64_t>(info.dli_saddr);
  return true;
}

// What it has of that kind is hidden.
Allocator own_allocator() {
  return {};
}

void* find_first_version(const char* name) {
  static_cast<void>(name);
  return nullptr;
}

// The loader's list ends at a library that was opened by dlopen.
void* find_next(const char* name) {
  void* const next = dlsym(RTLD_NEXT, name);
  if (next != nullptr) {
    return next;
  }
  void* const first = dlsym(RTLD_DEFAULT, name);
  Dl_info info;
  Dl_info own;
  const bool is_ours = first != nullptr && dladdr(first, &info) != 0 &&
                       dladdr(reinterpret_cast<void*>(&find_next), &own) != 0 &&
                       info.dli_fbase == own.dli_fbase;
  return is_ours ? nullptr : first;
}

// It is built without, as most programs that C compilers link with it.
bool has_unwind_tables() {
  return false;
}

void learn_functions() {
  constexpr const char* kNames[kNoReturns] = {"exit",        "_Exit",         "abort",
                                              "quick_exit",  "pthread_exit",  "__assert_fail",
                                              "longjmp",     "siglongjmp",    "__stack_chk_fail",
                                              "thrd_exit",   "_longjmp",      "__libc_start_main",
                                              "__cxa_throw", "_Unwind_Resume"};
  for (uint32_t i = 0; i < kNoReturns; ++i) {
    // Some of them are hooks of ours, which programs call; the C library calls its own.
    g_noreturns[2 * i].store(reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, kNames[i])),
                             std::memory_order_relaxed);
    g_noreturns[2 * i + 1].store(reinterpret_cast<uint64_t>(find_next(kNames[i])), std::memory_order_relaxed);
  }
}

bool is_noreturn(uint64_t function) {
  for (const std::atomic<uint64_t>& known : g_noreturns) {
    if (function != 0 && known.load(std::memory_order_relaxed) == function) {
      return true;
    }
  }
  return false;
}

// The kernel puts the name of the program at the end of the stack, above the environment.
uint64_t main_stack_end() {
  return getauxval(AT_EXECFN);
}

// It has no dlmopen.
bool count_namespaces(const r_debug* /*debug*/, uint64_t* /*count*/) {
  return false;
}

}  // namespace memprof::platform::libc
