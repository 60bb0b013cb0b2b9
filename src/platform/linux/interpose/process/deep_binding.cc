// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/process/deep_binding.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include <atomic>
#include <cstdint>

#include "core/engine/facts.h"
#include "core/mappings/mappings.h"
#include "core/sampling/sampler.h"
#include "platform/linux/interpose/hook_table.h"
#include "platform/linux/interpose/real.h"
#include "platform/linux/libc/c_library.h"
#include "platform/linux/modules/exports.h"
#include "platform/linux/modules/symbol_writer.h"
#include "platform/process.h"

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

namespace memprof::interpose {
namespace {

enum class Lead : uint8_t { kUntried, kDone, kRefused };

std::atomic<Lead> g_lead{Lead::kUntried};      // release, when symbols are written
std::atomic<uint32_t> g_leader{0};             // the process of the thread that writes them; 0: nobody
std::atomic<uint64_t> g_not_led{0};            // relaxed, and the next ones
std::atomic<uint64_t> g_most_apart{0};         // libraries in other namespaces that were seen
std::atomic<bool> g_opens_apart{false};        // one may have been opened since
std::atomic<const r_debug*> g_debug{nullptr};  // of the process's namespace

void publish() {
  profiler::note_bypassing_libraries(g_not_led.load(std::memory_order_relaxed) +
                                     g_most_apart.load(std::memory_order_relaxed) +
                                     (g_opens_apart.load(std::memory_order_relaxed) ? 1 : 0));
}

// The allocator's symbols, all or none: a block that is seen to come is seen to go. And those of functions that map memory,
// where they are hooked.
bool lead_symbols(const dl_phdr_info& allocator) {
  const platform::ExportTable exports(allocator);
  platform::SymbolWriter writer(allocator);
  Forwards forwards{};
  forwards.real = g_real;
  forwards.mappings = g_real_mappings;
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    const HookEntry& hook = g_hooks[i];
    const bool is_wanted =
        hook.kind == HookKind::kMemory || (hook.kind == HookKind::kMapping && mappings::is_on());
    const auto found = is_wanted ? reinterpret_cast<uint64_t>(exports.find(hook.name)) : 0;
    uint64_t behind = found;
    if (hook.forward != kNoForward && is_wanted) {
      memcpy(&behind, reinterpret_cast<const char*>(&forwards) + hook.forward, sizeof(behind));
    }
    if (found == 0) {
      continue;
    }
    if (behind != found || !writer.add(hook.name, found, reinterpret_cast<uint64_t>(hook.hook))) {
      if (hook.kind == HookKind::kMemory) {
        return false;
      }
    }
  }
  return writer.write();
}

bool is_c_library(const dl_phdr_info& module) {
  const platform::DynamicSection section(module);
  const char* const name = section.soname();
  return name != nullptr && strncmp(name, "libc.so", 7) == 0;
}

bool try_lead() {
  resolve();
  if (!profiler::has_hooks() || g_front.realloc != nullptr || g_front.free != nullptr ||
      platform::is_sandboxed()) {
    return false;
  }
  struct Search {
    bool is_led = false;
  } search;
  dl_iterate_phdr(
      [](dl_phdr_info* module, size_t, void* context) {
        if (!platform::is_in_module(*module, reinterpret_cast<uint64_t>(g_real.malloc))) {
          return 0;
        }
        static_cast<Search*>(context)->is_led = is_c_library(*module) && lead_symbols(*module);
        return 1;
      },
      &search);
  return search.is_led;
}

// Others wait, as what they open would be bound before the symbols are written. A child of fork does not wait for a
// thread that it does not have.
Lead lead() {
  const uint32_t self = platform::process_id();
  while (g_lead.load(std::memory_order_acquire) == Lead::kUntried) {
    uint32_t expected = 0;
    if (g_leader.compare_exchange_strong(expected, self, std::memory_order_acquire) || expected != self) {
      g_leader.store(self, std::memory_order_relaxed);
      if (g_lead.load(std::memory_order_acquire) == Lead::kUntried) {
        g_lead.store(try_lead() ? Lead::kDone : Lead::kRefused, std::memory_order_release);
      }
      g_leader.store(0, std::memory_order_release);
    } else {
      platform::yield_thread();
    }
  }
  return g_lead.load(std::memory_order_acquire);
}

}  // namespace

void before_open(int flags) {
  if ((flags & RTLD_DEEPBIND) == 0) {
    return;
  }
  const int saved_errno = errno;
  const MuteScope mute;
  if (lead() == Lead::kRefused) {
    g_not_led.fetch_add(1, std::memory_order_relaxed);
    publish();
  }
  errno = saved_errno;
}

void before_open_apart() {
  const int saved_errno = errno;
  const MuteScope mute;
  look_at_namespaces();
  if (g_debug.load(std::memory_order_relaxed) == nullptr) {
    g_debug.store(static_cast<const r_debug*>(dlsym(RTLD_DEFAULT, "_r_debug")), std::memory_order_relaxed);
  }
  g_opens_apart.store(true, std::memory_order_relaxed);
  publish();
  errno = saved_errno;
}

// The loader changes no list of modules while it is held.
void look_at_namespaces() {
  if (!g_opens_apart.load(std::memory_order_relaxed)) {
    return;
  }
  const int saved_errno = errno;
  dl_iterate_phdr(
      [](dl_phdr_info*, size_t, void*) {
        uint64_t apart = 0;
        if (!platform::libc::count_namespaces(g_debug.load(std::memory_order_relaxed), &apart)) {
          return 1;
        }
        g_opens_apart.store(false, std::memory_order_relaxed);
        if (apart > g_most_apart.load(std::memory_order_relaxed)) {
          g_most_apart.store(apart, std::memory_order_relaxed);
        }
        return 1;
      },
      nullptr);
  publish();
  errno = saved_errno;
}

}  // namespace memprof::interpose
