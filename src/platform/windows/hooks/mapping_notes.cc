// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/hooks/mapping_notes.h"

#include <atomic>

#include "core/mappings/mappings.h"
#include "platform/windows/memory/mapping_calls.h"
#include "platform/windows/modules/module_list.h"

namespace memprof::platform {
namespace {

// Written before any hook runs.
AddressRange g_library{};
AddressRange g_kernelbase{};

std::atomic<uint32_t> g_own_calls{0};  // relaxed

const void* pointer_to(uint64_t address) {
  return reinterpret_cast<const void*>(address);
}

AddressRange range_of_module(const void* address) {
  const KnownModule* const module = wait_for_module_at(address_of(address));
  return module != nullptr
             ? AddressRange{module->image.start(), module->image.start() + module->image.size_bytes()}
             : AddressRange{};
}

// Also by a handle that is not the constant one.
bool is_own_process(HANDLE process) {
  return process == nullptr || process == GetCurrentProcess() ||
         GetProcessId(process) == GetCurrentProcessId();
}

// A program that commits pages of its stack makes no mapping.
bool is_on_own_stack(uint64_t address) {
  return AddressRange{thread_block_word(kStackAllocation), thread_block_word(kStackBase)}.contains(address);
}

}  // namespace

bool find_callers_left_out() {
  g_library = range_of_module(reinterpret_cast<const void*>(find_callers_left_out));
  g_kernelbase = range_of_module(GetModuleHandleW(L"kernelbase.dll"));
  return g_library.limit != 0 && g_kernelbase.limit != 0;
}

uint32_t own_calls() {
  return g_own_calls.load(std::memory_order_relaxed);
}

bool is_recorded(const MappingCaller& caller) {
  const uint64_t address = address_of(caller.address);
  if (g_library.contains(address)) {
    g_own_calls.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return mappings::is_on() && !g_kernelbase.contains(address) && is_own_process(caller.process);
}

// Parts of it differ in their protection, or have no memory.
AddressRange region_of(const void* address) {
  MEMORY_BASIC_INFORMATION part;
  if (VirtualQuery(address, &part, sizeof(part)) == 0 || part.State == MEM_FREE) {
    return {};
  }
  const void* const base = part.AllocationBase;
  AddressRange region{address_of(base), 0};
  do {
    region.limit = address_of(part.BaseAddress) + part.RegionSize;
  } while (VirtualQuery(pointer_to(region.limit), &part, sizeof(part)) != 0 && part.State != MEM_FREE &&
           part.AllocationBase == base);
  return region;
}

void note_allocated(const void* got, const void* asked, size_t size_bytes, uint32_t type,
                    const MappingCaller& caller) {
  const MemoryChange change = change_of_allocation(address_of(got), address_of(asked), size_bytes, type);
  const void* const start = pointer_to(change.start);
  switch (change.kind) {
    case MemoryChange::Kind::kNone:
      break;
    case MemoryChange::Kind::kCommitted:
      if (!is_on_own_stack(change.start)) {
        mappings::committed(start, change.size_bytes, caller.address, {caller.frame});
      }
      break;
    case MemoryChange::Kind::kFresh:
    case MemoryChange::Kind::kGone:
      mappings::mapped(start, change.size_bytes, change.kind == MemoryChange::Kind::kFresh, caller.address,
                       {caller.frame});
      break;
  }
}

// No image, no private copy of a file, and nothing that has no memory yet.
void note_view(const void* start, const MappingCaller& caller) {
  constexpr DWORD kCopies = PAGE_WRITECOPY | PAGE_EXECUTE_WRITECOPY;
  MEMORY_BASIC_INFORMATION part;
  if (VirtualQuery(start, &part, sizeof(part)) != 0) {
    const bool is_shared =
        part.Type == MEM_MAPPED && part.State == MEM_COMMIT && (part.Protect & kCopies) == 0;
    mappings::mapped(start, part.RegionSize, is_shared, caller.address, {caller.frame});
  }
}

}  // namespace memprof::platform
