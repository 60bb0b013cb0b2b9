// SPDX-License-Identifier: Apache-2.0
// dlopen and dlmopen, in front of the real ones: what they open may find another malloc (deep_binding.h).
//
// Model: each keeps its arguments, calls a function that says where the real one is, and jumps there. So that one has its
// real caller, whose search paths and namespace it looks at.

#include <atomic>

#include "core/sampling/sampler.h"
#include "platform/linux/interpose/forwarding_hook.h"
#include "platform/linux/interpose/process/deep_binding.h"
#include "platform/linux/libc/c_library.h"

#if !defined(MEMPROF_LOCAL_HOOKS)
namespace {

using Dlopen = void* (*)(const char*, int);
using Dlmopen = void* (*)(long, const char*, int);
// Relaxed: whoever looks them up finds the same.
std::atomic<Dlopen> g_real_dlopen{nullptr};
std::atomic<Dlmopen> g_real_dlmopen{nullptr};

void* no_dlopen(const char*, int) {
  return nullptr;
}

void* no_dlmopen(long, const char*, int) {
  return nullptr;
}

template <typename Function>
Function find_real(std::atomic<Function>& real, const char* name, Function otherwise) {
  Function found = real.load(std::memory_order_relaxed);
  if (found == nullptr) {
    const memprof::MuteScope mute;
    found = reinterpret_cast<Function>(memprof::platform::libc::find_next(name));
    found = found != nullptr ? found : otherwise;
    real.store(found, std::memory_order_relaxed);
  }
  return found;
}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) Dlopen memprof_before_dlopen(const char*, int flags) {
  memprof::interpose::before_open(flags);
  return find_real(g_real_dlopen, "dlopen", &no_dlopen);
}

__attribute__((visibility("hidden"), used)) Dlmopen memprof_before_dlmopen(long space, const char*,
                                                                           int flags) {
  if (space != 0) {  // LM_ID_BASE
    memprof::interpose::before_open_apart();
  } else {
    memprof::interpose::before_open(flags);
  }
  return find_real(g_real_dlmopen, "dlmopen", &no_dlmopen);
}
}

MEMPROF_OPEN_HOOK(dlopen);
MEMPROF_OPEN_HOOK(dlmopen);
#endif
