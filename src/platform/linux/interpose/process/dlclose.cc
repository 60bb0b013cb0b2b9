// SPDX-License-Identifier: Apache-2.0
// dlclose, in front of the real one: what is cached about the code of a library must not outlive it, because
// another library can be loaded at the same addresses.  Where import tables are patched, libraries that were
// loaded meanwhile are noticed, as by the hooks of loader_calls.h.
//

#include <atomic>

#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "platform/linux/interpose/hook_name.h"
#include "platform/linux/interpose/loader_calls.h"
#include "platform/linux/interpose/process/deep_binding.h"
#include "platform/linux/libc/c_library.h"
#include "unwind/tables/rule_cache.h"

namespace {

using Dlclose = int (*)(void*);
std::atomic<Dlclose> g_real_dlclose{nullptr};  // relaxed: whoever looks it up finds the same

}  // namespace

MEMPROF_DEFINE_HOOK(int, dlclose, (void* handle)) {
  // Where import tables are patched, that one is known.
  Dlclose real = memprof_real_loader.dlclose;
  if (real != nullptr) {
    memprof_before_loader_call();
  } else {
    real = g_real_dlclose.load(std::memory_order_relaxed);
  }
  if (real == nullptr) {
    real = reinterpret_cast<Dlclose>(memprof::platform::libc::find_next("dlclose"));
    if (real == nullptr) {
      return -1;
    }
    g_real_dlclose.store(real, std::memory_order_relaxed);
  }
  memprof::interpose::look_at_namespaces();
  memprof::unwind::g_rule_cache.begin_unload();
  memprof::runtimes::before_unload();
  const int result = real(handle);
  memprof::profiler::code_was_unloaded();
  memprof::runtimes::after_unload();
  memprof::unwind::g_rule_cache.end_unload();
  return result;
}
