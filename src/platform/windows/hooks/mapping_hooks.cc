// SPDX-License-Identifier: Apache-2.0
// Each hook calls the real function first, or where it frees, asks for the extent before; then it tells core/mappings.  The
// thread's last error stays what the real function left.
#include "platform/windows/hooks/mapping_hooks.h"

#include <atomic>
#include <cerrno>

#include "core/hooks/hook.h"
#include "core/mappings/mappings.h"
#include "platform/messages.h"
#include "platform/windows/hooks/mapping_notes.h"
#include "platform/windows/hooks/patches.h"
#include "platform/windows/memory/mapping_calls.h"
#include "platform/windows/system.h"

namespace mappings = memprof::mappings;

namespace {

using memprof::platform::address_of;
using memprof::platform::MappingCaller;
using memprof::platform::MemoryChange;
using memprof::platform::Patch;

enum MappingFunction : uint32_t {
  kVirtualAlloc,
  kVirtualAllocEx,
  kVirtualFree,
  kVirtualFreeEx,
  kMapViewOfFile,
  kMapViewOfFileEx,
  kUnmapViewOfFile,
  kVirtualAllocExNuma,  // from here on: those that older systems lack
  kVirtualAlloc2,
  kVirtualAlloc2FromApp,
  kVirtualAllocFromApp,
  kMapViewOfFile3,
  kMapViewOfFile3FromApp,
  kMapViewOfFileExNuma,
  kMapViewOfFileFromApp,
  kMapViewOfFileNuma2,
  kUnmapViewOfFile2,
  kUnmapViewOfFileEx,
  kFunctions,
};
uint64_t g_real_mapping[kFunctions];  // the moved instructions of each; written before any hook runs

template <typename Result, typename... Arguments>
[[gnu::always_inline]] inline Result call_real(MappingFunction function, Arguments... arguments) {
  return reinterpret_cast<Result (*)(Arguments...)>(g_real_mapping[function])(arguments...);
}

template <typename Real>
[[gnu::always_inline]] inline void* allocate(const void* asked, size_t size, uint32_t type,
                                             const MappingCaller& caller, const Real& real) {
  void* const got = real();
  const int error = errno;
  if (got != nullptr && memprof::platform::is_recorded(caller)) {
    memprof::platform::note_allocated(got, asked, size, type, caller);
  }
  errno = error;
  return got;
}

template <typename Real>
[[gnu::always_inline]] inline void* map_view(const MappingCaller& caller, const Real& real) {
  void* const got = real();
  const int error = errno;
  if (got != nullptr && memprof::platform::is_recorded(caller)) {
    memprof::platform::note_view(got, caller);
  }
  errno = error;
  return got;
}

// `change_by_call`: what the call does if it succeeds; asked before it.
template <typename Change, typename Real>
[[gnu::always_inline]] inline BOOL take_away(const MappingCaller& caller, const Change& change_by_call,
                                             const Real& real) {
  const int before = errno;
  if (!memprof::platform::is_recorded(caller)) {
    errno = before;
    return real();
  }
  const MemoryChange change = change_by_call();
  const uint64_t ticket = mappings::begin_unmap();
  errno = before;
  const BOOL is_done = real();
  const int error = errno;
  if (is_done && change.kind != MemoryChange::Kind::kNone) {
    mappings::unmapped(reinterpret_cast<const void*>(change.start), change.size_bytes, ticket);
  }
  errno = error;
  return is_done;
}

template <typename Real>
[[gnu::always_inline]] inline BOOL free_pages(const void* address, size_t size, uint32_t type,
                                              const MappingCaller& caller, const Real& real) {
  const auto change = [=] {
    const bool is_region = memprof::platform::is_of_region(size, type);
    const uint64_t limit = is_region ? memprof::platform::region_of(address).limit : 0;
    return memprof::platform::change_of_free(address_of(address), size, type, limit - address_of(address));
  };
  return take_away(caller, change, real);
}

template <typename Real>
[[gnu::always_inline]] inline BOOL unmap_view(const void* address, const MappingCaller& caller,
                                              const Real& real) {
  const auto change = [=]() -> MemoryChange {
    const memprof::platform::AddressRange region = memprof::platform::region_of(address);
    return {MemoryChange::Kind::kGone, region.start, region.limit - region.start};
  };
  return take_away(caller, change, real);
}

#define MEMPROF_CALLER(process) {process, __builtin_return_address(0), __builtin_frame_address(0)}

// The hooks' parameters are those of Microsoft's documentation, in their order.
MEMPROF_HOOK void* virtual_alloc(void* address, size_t size, DWORD type, DWORD protection) {
  return allocate(address, size, type, MEMPROF_CALLER(nullptr),
                  [=] { return call_real<void*>(kVirtualAlloc, address, size, type, protection); });
}
MEMPROF_HOOK void* virtual_alloc_ex(HANDLE process, void* address, size_t size, DWORD type,
                                    DWORD protection) {
  return allocate(address, size, type, MEMPROF_CALLER(process), [=] {
    return call_real<void*>(kVirtualAllocEx, process, address, size, type, protection);
  });
}
MEMPROF_HOOK void* virtual_alloc_ex_numa(HANDLE process, void* address, size_t size, DWORD type,
                                         DWORD protection, DWORD node) {
  return allocate(address, size, type, MEMPROF_CALLER(process), [=] {
    return call_real<void*>(kVirtualAllocExNuma, process, address, size, type, protection, node);
  });
}
MEMPROF_HOOK void* virtual_alloc_2(HANDLE process, void* address, size_t size, ULONG type, ULONG protection,
                                   void* more, ULONG more_count) {
  return allocate(address, size, type, MEMPROF_CALLER(process), [=] {
    return call_real<void*>(kVirtualAlloc2, process, address, size, type, protection, more, more_count);
  });
}
MEMPROF_HOOK void* virtual_alloc_2_from_app(HANDLE process, void* address, size_t size, ULONG type,
                                            ULONG protection, void* more, ULONG more_count) {
  return allocate(address, size, type, MEMPROF_CALLER(process), [=] {
    return call_real<void*>(kVirtualAlloc2FromApp, process, address, size, type, protection, more,
                            more_count);
  });
}
MEMPROF_HOOK void* virtual_alloc_from_app(void* address, size_t size, ULONG type, ULONG protection) {
  return allocate(address, size, type, MEMPROF_CALLER(nullptr),
                  [=] { return call_real<void*>(kVirtualAllocFromApp, address, size, type, protection); });
}

MEMPROF_HOOK BOOL virtual_free(void* address, size_t size, DWORD type) {
  return free_pages(address, size, type, MEMPROF_CALLER(nullptr),
                    [=] { return call_real<BOOL>(kVirtualFree, address, size, type); });
}
MEMPROF_HOOK BOOL virtual_free_ex(HANDLE process, void* address, size_t size, DWORD type) {
  return free_pages(address, size, type, MEMPROF_CALLER(process),
                    [=] { return call_real<BOOL>(kVirtualFreeEx, process, address, size, type); });
}

MEMPROF_HOOK void* map_view_of_file(HANDLE section, DWORD access, DWORD high, DWORD low, size_t size) {
  return map_view(MEMPROF_CALLER(nullptr),
                  [=] { return call_real<void*>(kMapViewOfFile, section, access, high, low, size); });
}
MEMPROF_HOOK void* map_view_of_file_ex(HANDLE section, DWORD access, DWORD high, DWORD low, size_t size,
                                       void* address) {
  return map_view(MEMPROF_CALLER(nullptr), [=] {
    return call_real<void*>(kMapViewOfFileEx, section, access, high, low, size, address);
  });
}
MEMPROF_HOOK void* map_view_of_file_ex_numa(HANDLE section, DWORD access, DWORD high, DWORD low, size_t size,
                                            void* address, DWORD node) {
  return map_view(MEMPROF_CALLER(nullptr), [=] {
    return call_real<void*>(kMapViewOfFileExNuma, section, access, high, low, size, address, node);
  });
}
MEMPROF_HOOK void* map_view_of_file_from_app(HANDLE section, ULONG access, ULONG64 offset, size_t size) {
  return map_view(MEMPROF_CALLER(nullptr),
                  [=] { return call_real<void*>(kMapViewOfFileFromApp, section, access, offset, size); });
}
MEMPROF_HOOK void* map_view_of_file_3(HANDLE section, HANDLE process, void* address, ULONG64 offset,
                                      size_t size, ULONG type, ULONG protection, void* more,
                                      ULONG more_count) {
  return map_view(MEMPROF_CALLER(process), [=] {
    return call_real<void*>(kMapViewOfFile3, section, process, address, offset, size, type, protection, more,
                            more_count);
  });
}
MEMPROF_HOOK void* map_view_of_file_3_from_app(HANDLE section, HANDLE process, void* address, ULONG64 offset,
                                               size_t size, ULONG type, ULONG protection, void* more,
                                               ULONG more_count) {
  return map_view(MEMPROF_CALLER(process), [=] {
    return call_real<void*>(kMapViewOfFile3FromApp, section, process, address, offset, size, type, protection,
                            more, more_count);
  });
}
MEMPROF_HOOK void* map_view_of_file_numa_2(HANDLE section, HANDLE process, ULONG64 offset, void* address,
                                           size_t size, ULONG type, ULONG protection, ULONG node) {
  return map_view(MEMPROF_CALLER(process), [=] {
    return call_real<void*>(kMapViewOfFileNuma2, section, process, offset, address, size, type, protection,
                            node);
  });
}

MEMPROF_HOOK BOOL unmap_view_of_file(const void* address) {
  return unmap_view(address, MEMPROF_CALLER(nullptr),
                    [=] { return call_real<BOOL>(kUnmapViewOfFile, address); });
}
MEMPROF_HOOK BOOL unmap_view_of_file_ex(void* address, ULONG flags) {
  return unmap_view(address, MEMPROF_CALLER(nullptr),
                    [=] { return call_real<BOOL>(kUnmapViewOfFileEx, address, flags); });
}
MEMPROF_HOOK BOOL unmap_view_of_file_2(HANDLE process, void* address, ULONG flags) {
  return unmap_view(address, MEMPROF_CALLER(process),
                    [=] { return call_real<BOOL>(kUnmapViewOfFile2, process, address, flags); });
}

#undef MEMPROF_CALLER

}  // namespace

namespace memprof::platform {
namespace {

Patch g_mapping_patches[kFunctions] = {};
std::atomic<bool> g_are_mappings_hooked{false};  // relaxed: changed under the loader's lock, or by one thread

template <typename Hook>
void set_mapping_hook(MappingFunction function, const char* name, Hook* hook) {
  Patch& patch = g_mapping_patches[function];
  patch = {name, reinterpret_cast<const void*>(hook), &g_real_mapping[function]};
  patch.is_optional = function >= kVirtualAllocExNuma;
}

void set_mapping_hooks() {
  set_mapping_hook(kVirtualAlloc, "VirtualAlloc", virtual_alloc);
  set_mapping_hook(kVirtualAllocEx, "VirtualAllocEx", virtual_alloc_ex);
  set_mapping_hook(kVirtualFree, "VirtualFree", virtual_free);
  set_mapping_hook(kVirtualFreeEx, "VirtualFreeEx", virtual_free_ex);
  set_mapping_hook(kMapViewOfFile, "MapViewOfFile", map_view_of_file);
  set_mapping_hook(kMapViewOfFileEx, "MapViewOfFileEx", map_view_of_file_ex);
  set_mapping_hook(kUnmapViewOfFile, "UnmapViewOfFile", unmap_view_of_file);
  set_mapping_hook(kVirtualAllocExNuma, "VirtualAllocExNuma", virtual_alloc_ex_numa);
  set_mapping_hook(kVirtualAlloc2, "VirtualAlloc2", virtual_alloc_2);
  set_mapping_hook(kVirtualAlloc2FromApp, "VirtualAlloc2FromApp", virtual_alloc_2_from_app);
  set_mapping_hook(kVirtualAllocFromApp, "VirtualAllocFromApp", virtual_alloc_from_app);
  set_mapping_hook(kMapViewOfFile3, "MapViewOfFile3", map_view_of_file_3);
  set_mapping_hook(kMapViewOfFile3FromApp, "MapViewOfFile3FromApp", map_view_of_file_3_from_app);
  set_mapping_hook(kMapViewOfFileExNuma, "MapViewOfFileExNuma", map_view_of_file_ex_numa);
  set_mapping_hook(kMapViewOfFileFromApp, "MapViewOfFileFromApp", map_view_of_file_from_app);
  set_mapping_hook(kMapViewOfFileNuma2, "MapViewOfFileNuma2", map_view_of_file_numa_2);
  set_mapping_hook(kUnmapViewOfFile2, "UnmapViewOfFile2", unmap_view_of_file_2);
  set_mapping_hook(kUnmapViewOfFileEx, "UnmapViewOfFileEx", unmap_view_of_file_ex);
}

void complain_of_mappings(const char* subject, const char* reason) {
  const char* const parts[] = {"mappings are not recorded: ", subject, " ", reason, nullptr};
  message(parts);
}

// The others are hooked.
void complain_of_form(const Patch& patch) {
  const char* const parts[] = {"mappings: calls of ", patch.name, " are not seen: it ", patch.refusal,
                               nullptr};
  message(parts);
}

// A call comes to its hook, which tells that it is this library's.
bool are_mappings_seen() {
  const uint32_t before = own_calls();
  void* const page = VirtualAlloc(nullptr, 1, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  const bool is_freed = page != nullptr && VirtualFree(page, 0, MEM_RELEASE);
  return is_freed && own_calls() - before >= 2;
}

}  // namespace

bool hook_mappings() {
  if (g_are_mappings_hooked.load(std::memory_order_relaxed)) {
    return true;
  }
  if (!find_callers_left_out()) {
    complain_of_mappings("kernelbase.dll", "is not among the modules that the loader lists");
    return false;
  }
  set_mapping_hooks();
  const char* culprit = "";
  if (const char* reason = install_patches(L"kernelbase.dll", g_mapping_patches, kFunctions, &culprit)) {
    complain_of_mappings(culprit, reason);
    return false;
  }
  g_are_mappings_hooked.store(true, std::memory_order_relaxed);
  for (const Patch& patch : g_mapping_patches) {
    if (patch.refusal != nullptr) {
      complain_of_form(patch);
    }
  }
  if (!are_mappings_seen()) {
    complain_of_mappings("VirtualAlloc", "is hooked, and its calls are not seen");
    unhook_mappings();
    return false;
  }
  return true;
}

void hook_mappings_if_asked() {
  if (mappings::is_on() && !hook_mappings()) {
    mappings::withdraw();
  }
}

bool unhook_mappings() {
  if (!g_are_mappings_hooked.load(std::memory_order_relaxed)) {
    return true;
  }
  const bool all = remove_patches(g_mapping_patches, kFunctions);
  g_are_mappings_hooked.store(!all, std::memory_order_relaxed);
  return all;
}

}  // namespace memprof::platform
