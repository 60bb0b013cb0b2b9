// SPDX-License-Identifier: Apache-2.0
// All hooks by name, for those who patch import tables: where each lies, and where it keeps the function that
// it stands in front of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/linux/interpose/loader_calls.h"
#include "platform/linux/interpose/real.h"

namespace memprof::interpose {

// What the hooks go on to.
struct Forwards {
  Real real;
  ForeignOperators foreign;
  MemprofRealLoader loader;
  RealMappings mappings;
};

enum class HookKind : uint8_t {
  kMemory,    // of the allocator: malloc, free and so on
  kOperator,  // C++ operators
  kLoader,    // no allocations: dlopen, dlsym and so on, _exit, calls that load a filter of system calls
  kFrames,    // that register unwind tables
  kMapping,   // that map memory; only where mappings are recorded
};

inline constexpr size_t kNoForward = SIZE_MAX;

struct HookEntry {
  const char* name;
  HookKind kind;
  void (*hook)();  // only its address is of interest; nullptr: none
  // Offset into Forwards of the function pointer; kNoForward: it has none of its own.  kFrames: its number for
  // set_frame_call.
  size_t forward;
};

inline constexpr uint32_t kMallocHook = 0;
inline constexpr uint32_t kFreeHook = 1;
inline constexpr uint32_t kNewHook = 2;

// NOLINTBEGIN(readability-identifier-naming): constant, but of another file
extern const HookEntry* const g_hooks;
extern const uint32_t g_hook_count;
// NOLINTEND(readability-identifier-naming)

// Makes the hooks go on to `forwards`, for good.  What of the allocator is nullptr there is made of what is not
// (absent.h).  Before any caller can come to them.
void set_forwards(const Forwards& forwards);

}  // namespace memprof::interpose
