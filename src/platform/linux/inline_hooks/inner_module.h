// SPDX-License-Identifier: Apache-2.0
// A loaded module whose own allocators are hooked.
//
// Model: what belongs to it lies in pages near its code, and goes when the module does:
//     InnerModule, its InnerHeaps, their HookSites (writable) | stubs (executable)
// Code is changed while nobody can run it: before the program has threads, where a library has just been mapped and is
// not relocated yet, or by a tracer that has stopped all threads (Patching::kByTracer).
//
// Threads: one at a time; the caller keeps the module from being unloaded.
// Allocates: pages.
// Failure: the module stays as it was; why, is said.
#pragma once

#include <link.h>

#include <cstdint>

#include "platform/linux/inline_hooks/code/hook_site.h"

namespace memprof::platform {

struct InnerModule {
  static constexpr uint32_t kMaxPathBytes = 512;

  uint64_t load_address;  // dlpi_addr and dlpi_phdr tell two modules apart that are loaded at the same time
  const void* headers;
  uint64_t region_bytes;
  const char* refusal;  // nullptr: its functions are patched
  uint32_t heap_count;
  char path[kMaxPathBytes];  // as much of it as fits
  InnerHeap* heaps;

  bool is_of(const dl_phdr_info& module) const {
    return module.dlpi_addr == load_address && module.dlpi_phdr == headers;
  }
};

enum class Patching {
  kNow,       // nobody can run its code
  kByTracer,  // threads may run it: all is prepared, and nothing of it happens
  kNever      // somebody may run its code; only what there is of allocators is found
};

// Hooks the allocators of a module.  nullptr: it has none.  `path`: of its file; `name`: how it is called in the names of
// heaps.  `is_behind_malloc`: the hooks of malloc go on to it, so that only functions are hooked here that have none there.
InnerModule* hook_module(const dl_phdr_info& module, const char* path, const char* name, bool is_program,
                         bool is_behind_malloc, Patching patching);

// visit(heap, site) for each function that is or will be patched.
template <typename Visit>
void each_hooked(const InnerModule& module, const Visit& visit) {
  for (uint32_t h = 0; h < module.heap_count; ++h) {
    const InnerHeap& heap = module.heaps[h];
    for (uint32_t i = 0; heap.reason == nullptr && i < heap.site_count; ++i) {
      if (heap.sites[i].refusal == Refusal::kNone) {
        visit(heap, heap.sites[i]);
      }
    }
  }
}

// After the module was unloaded.
void release_module(InnerModule* module);

}  // namespace memprof::platform
