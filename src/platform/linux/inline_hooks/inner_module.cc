// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/inner_module.h"

#include <string.h>
#include <sys/mman.h>

#include "platform/linux/inline_hooks/code/code_writer.h"
#include "platform/linux/inline_hooks/code/mapping_code.h"
#include "platform/linux/inline_hooks/code/module_symbols.h"
#include "platform/linux/inline_hooks/code/near_pages.h"
#include "platform/linux/inline_hooks/code/stubs.h"
#include "platform/linux/inline_hooks/inner_functions.h"
#include "platform/linux/inline_hooks/slow_paths.h"
#include "platform/linux/memory/own_pages.h"
#include "platform/memory.h"
#include "platform/memory_areas.h"

namespace memprof::platform {
namespace {

uint64_t page_aligned(uint64_t bytes) {
  return (bytes + kSmallestPage - 1) & ~(kSmallestPage - 1);
}

void copy_text(char* to, size_t room, const char* text) {
  const size_t length = strlen(text);
  const size_t bytes = length < room ? length : room - 1;
  memcpy(to, text, bytes);
  to[bytes] = '\0';
}

void append_text(char* to, size_t room, const char* text) {
  const size_t at = strlen(to);
  copy_text(to + at, room - at, text);
}

// The functions that programs call; what they call with locks held is reached through them.
bool is_in_functions(const void* inner_heap, uint64_t address) {
  const auto& heap = *static_cast<const InnerHeap*>(inner_heap);
  for (uint32_t i = 0; i < heap.site_count; ++i) {
    if (address - heap.sites[i].address < heap.sites[i].size_bytes) {
      return true;
    }
  }
  return false;
}

void ask(InnerHeap* heap, const Function& f) {
  const bool is_of_counts =
      f.signature.call == AllocatorCall::kMallctl || f.signature.call == AllocatorCall::kNumericProperty;
  if (f.is_local || (is_of_counts && heap->is_mallocs)) {  // malloc's own are asked where malloc is hooked
    return;
  }
  if (is_of_counts) {
    heap->counts.interface = f.signature.call == AllocatorCall::kMallctl
                                 ? counts::Interface::kMallctl
                                 : counts::Interface::kNumericProperty;
    heap->counts.function = reinterpret_cast<const void*>(f.address);
    heap->counts.code = {is_in_functions, heap};
    return;
  }
  (f.signature.call == AllocatorCall::kUsableSize  ? heap->usable_size
   : f.signature.call == AllocatorCall::kVisitHeap ? heap->visit_heap
                                                   : heap->default_heap) = f.address;
}

class Hooker {
 public:
  Hooker(const dl_phdr_info& module, const ModuleSymbols& symbols, const AllocatorNames& names,
         const Functions& functions)
      : module_(module), symbols_(symbols), names_(names), functions_(functions) {}

  InnerModule* hook(const char* path, const char* name, bool is_behind_malloc, Patching patching) {
    const uint64_t data_bytes = page_aligned(sizeof(InnerModule) + names_.count() * sizeof(InnerHeap) +
                                             functions_.count * sizeof(HookSite));
    const uint64_t code_bytes = page_aligned(functions_.count * kStubBytes);
    void* region = map_near(functions_.low, functions_.high, data_bytes + code_bytes);
    const bool is_near = region != nullptr;
    region = is_near ? region : reserve_pages(data_bytes + code_bytes);
    if (region == nullptr) {
      return nullptr;
    }
    stubs_ = static_cast<uint8_t*>(region) + data_bytes;
    result_ = static_cast<InnerModule*>(region);
    result_->load_address = module_.dlpi_addr;
    result_->headers = module_.dlpi_phdr;
    result_->region_bytes = data_bytes + code_bytes;
    copy_text(result_->path, sizeof(result_->path), path);
    result_->heaps = reinterpret_cast<InnerHeap*>(result_ + 1);
    result_->heap_count = names_.count();
    fill(name, is_near, is_behind_malloc, patching == Patching::kByTracer);
    if (patching == Patching::kNever) {
      result_->refusal = "threads ran before it could be hooked";
    } else if (mprotect(stubs_, code_bytes, PROT_READ | PROT_EXEC) != 0 ||
               (patching == Patching::kNow && !patch_all())) {
      result_->refusal = "the system does not let code be changed";
      unhook_all();
    }
    for (uint32_t h = 0; h < result_->heap_count && result_->refusal == nullptr; ++h) {
      if (result_->heaps[h].reason == nullptr) {
        note_mapping_code(result_->heaps[h]);
      }
    }
    return result_;
  }

 private:
  void fill(const char* name, bool is_near, bool is_behind_malloc, bool is_for_tracer) {
    auto* site = reinterpret_cast<HookSite*>(result_->heaps + result_->heap_count);
    const uint64_t gate = slow_paths();
    for (uint32_t h = 0; h < result_->heap_count; ++h) {
      InnerHeap& heap = result_->heaps[h];
      copy_text(heap.name, sizeof(heap.name), names_[h].family);
      heap.is_known = is_known_family(names_[h].family);
      heap.is_mallocs = is_behind_malloc;
      append_text(heap.name, sizeof(heap.name), " in ");
      append_text(heap.name, sizeof(heap.name), name);
      heap.sites = site;
      for (uint32_t i = 0; i < functions_.count; ++i) {
        const Function& f = functions_.all[i];
        if (f.heap != h) {
          continue;
        }
        if (is_asked_only(f.signature.call)) {
          ask(&heap, f);
        } else if (heap.site_count < InnerHeap::kMaxSites) {
          fill_site(site, &heap, f, is_near, gate);
          if (is_for_tracer && site->refusal == Refusal::kNone && is_across_pages(*site)) {
            site->refusal = Refusal::kAcrossPages;
          }
          ++heap.site_count;
          ++site;
        }
      }
      judge(&heap);
      find_mapping(&heap, h);
      if (is_for_tracer && heap.reason == nullptr) {
        heap.state.store(InnerState::kPrepared, std::memory_order_relaxed);
      }
    }
  }

  // The allocator is on trial at first, and its memory its own: try_allocator() tells where it fails.
  void find_mapping(InnerHeap* heap, uint32_t index) {
    for (uint32_t i = 0; i < functions_.mapping_count; ++i) {
      const MappingCode& f = functions_.mapping[i];
      if (heap->mapping_count < InnerHeap::kMaxMapping &&
          names_.mapped_for(f.name) == static_cast<int>(index)) {
        heap->mapping[heap->mapping_count++] = f.code;
      }
    }
  }

  // A tracer that is killed between the pages would leave half a jump.
  static bool is_across_pages(const HookSite& site) {
    const uint64_t at = site.address + site.entry_bytes;
    return at / kSmallestPage != (at + kJumpBytes - 1) / kSmallestPage;
  }

  void fill_site(HookSite* site, InnerHeap* heap, const Function& f, bool is_near, uint64_t gate) {
    site->address = f.address;
    site->size_bytes = f.size_bytes;
    site->heap = heap;
    site->signature = f.signature;
    site->is_local = f.is_local;
    copy_text(site->name, sizeof(site->name), f.name);
    if (gate == 0) {
      site->refusal = Refusal::kUnsupported;
    } else if (f.is_local && f.signature.call == AllocatorCall::kAllocateInto) {
      // Where the block is stored may be another argument than its declaration says.
      site->refusal = Refusal::kLocal;
    } else if (!is_near) {
      site->refusal = Refusal::kFar;
    } else if (!symbols_.is_code(f.address, f.size_bytes + kJumpBytes)) {
      site->refusal = Refusal::kChanged;
    } else {
      site->refusal =
          write_stub(site, reinterpret_cast<const uint8_t*>(f.address), f.size_bytes, stub_of(*site), gate);
    }
    site->target.store(site->first, std::memory_order_relaxed);
  }

  uint8_t* stub_of(const HookSite& site) const {
    const auto* first = reinterpret_cast<const HookSite*>(result_->heaps + result_->heap_count);
    return stubs_ + static_cast<uint64_t>(&site - first) * kStubBytes;
  }

  // A block that is seen to come must be seen to go: each function that frees or resizes is hooked, or calls one that is.
  void judge(InnerHeap* heap) {
    uint32_t gives = 0;
    uint32_t frees = 0;
    for (uint32_t i = 0; i < heap->site_count; ++i) {
      HookSite& site = heap->sites[i];
      const bool is_free = site.signature.call == AllocatorCall::kFree;
      if (site.refusal == Refusal::kNone) {
        ++(is_free ? frees : gives);
      } else {
        site.is_indirect = site.signature.calls_another || reaches_hooked(*heap, site, is_free);
        if ((is_free || resizes(site)) && !site.is_indirect) {
          heap->reason = refusal_text(site.refusal);
          heap->culprit = site.name;
        }
      }
    }
    if (heap->reason == nullptr && (gives == 0 || frees == 0)) {
      heap->reason = gives == 0 ? "none of its functions that allocate can be hooked"
                                : "none of its functions that free is known";
    }
    if (heap->reason != nullptr) {
      heap->state.store(InnerState::kRefused, std::memory_order_relaxed);
    }
    // Names that only look so.
    heap->is_known = heap->is_known && (gives != 0 || heap->culprit != nullptr) && allocates(*heap);
  }

  static bool resizes(const HookSite& site) {
    const AllocatorCall call = site.signature.call;
    return call == AllocatorCall::kReallocate || call == AllocatorCall::kThrowingReallocate ||
           call == AllocatorCall::kDestroyHeap;
  }

  static bool allocates(const InnerHeap& heap) {
    for (uint32_t i = 0; i < heap.site_count; ++i) {
      const AllocatorCall call = heap.sites[i].signature.call;
      if (call == AllocatorCall::kAllocate || call == AllocatorCall::kThrowingAllocate) {
        return true;
      }
    }
    return false;
  }

  bool reaches_hooked(const InnerHeap& heap, const HookSite& site, bool frees) const {
    uint64_t targets[InnerHeap::kMaxSites];
    uint32_t count = 0;
    for (uint32_t i = 0; i < heap.site_count; ++i) {
      const HookSite& other = heap.sites[i];
      if (other.refusal == Refusal::kNone && (other.signature.call == AllocatorCall::kFree) == frees) {
        targets[count++] = other.address;
      }
    }
    return reaches(reinterpret_cast<const uint8_t*>(site.address), site.size_bytes, site.address, targets,
                   count);
  }

  // What was patched already does what it did.
  void unhook_all() const {
    for (uint32_t h = 0; h < result_->heap_count; ++h) {
      const InnerHeap& heap = result_->heaps[h];
      for (uint32_t i = 0; i < heap.site_count; ++i) {
        heap.sites[i].target.store(heap.sites[i].original, std::memory_order_relaxed);
      }
    }
  }

  bool patch_all() const {
    const SignalsBlocked blocked;
    bool is_done = true;
    each_hooked(*result_, [&](const InnerHeap&, const HookSite& site) {
      is_done = is_done && write_jump(site.address + site.entry_bytes, site.stub);
    });
    return is_done;
  }

  const dl_phdr_info& module_;
  const ModuleSymbols& symbols_;
  const AllocatorNames& names_;
  const Functions& functions_;
  InnerModule* result_ = nullptr;
  uint8_t* stubs_ = nullptr;
};

}  // namespace

InnerModule* hook_module(const dl_phdr_info& module, const char* path, const char* name, bool is_program,
                         bool is_behind_malloc, Patching patching) {
  const ModuleSymbols symbols(module, path);
  auto* functions =
      symbols.is_readable() ? static_cast<Functions*>(reserve_pages(sizeof(Functions))) : nullptr;
  if (functions == nullptr) {
    return nullptr;
  }
  AllocatorNames names(is_program || is_behind_malloc);
  find_functions(symbols, is_behind_malloc, &names, functions);
  InnerModule* hooked = nullptr;
  if (functions->count != 0) {
    hooked = Hooker(module, symbols, names, *functions).hook(path, name, is_behind_malloc, patching);
  }
  release_pages(functions, sizeof(Functions));
  return hooked;
}

void release_module(InnerModule* module) {
  for (uint32_t h = 0; h < module->heap_count; ++h) {
    counts::forget(&module->heaps[h].counts);
    forget_mapping_code(module->heaps[h]);
  }
  unmap_own(module, module->region_bytes);
}

}  // namespace memprof::platform
