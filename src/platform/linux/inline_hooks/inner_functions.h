// SPDX-License-Identifier: Apache-2.0
// The functions of a module that are an allocator's, by their names.
//
// Threads: the caller keeps the module from being unloaded.
// Allocates: pages, given back at the end.
// Failure: what finds no room is left out.
#pragma once

#include <cstdint>

#include "format/allocators/allocator_functions.h"
#include "platform/linux/inline_hooks/code/hook_site.h"
#include "platform/linux/inline_hooks/code/module_symbols.h"

namespace memprof::platform {

inline constexpr uint32_t kMaxFunctions = 256;
inline constexpr uint32_t kMaxMappingFunctions = 16;

struct Function {
  const char* name;
  uint64_t address;
  uint64_t size_bytes;
  AllocatorSignature signature;
  uint32_t heap;
  bool is_local;
};

// One that may map memory for an allocator.
struct MappingCode {
  const char* name;
  InnerHeap::Code code;
};

// The functions of a module's allocators, each once.
struct Functions {
  uint32_t count;
  uint64_t low;
  uint64_t high;
  Function all[kMaxFunctions];
  uint32_t mapping_count;
  MappingCode mapping[kMaxMappingFunctions];

  void add_mapping(const FunctionSymbol& symbol);
  void add(const FunctionSymbol& symbol, const AllocatorSignature& signature, uint32_t heap);
};

// `is_behind_malloc`: only functions that the hooks of malloc do not stand in front of, by whatever other name.
void find_functions(const ModuleSymbols& symbols, bool is_behind_malloc, AllocatorNames* names,
                    Functions* functions);

}  // namespace memprof::platform
