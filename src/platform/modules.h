// SPDX-License-Identifier: Apache-2.0
// The modules that are loaded, and what they export.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstdint>

namespace memprof::platform {

inline constexpr uint32_t kMaxBuildIdBytes = 32;

struct ModuleInfo {
  uint64_t start;  // of the segment: start <= address < limit
  uint64_t limit;
  uint64_t file_offset;  // of the segment's start
  uint64_t bias;         // load address minus address in the file
  const char* path;      // valid while the module stays loaded
  uint32_t build_id_size;
  uint8_t build_id[kMaxBuildIdBytes];
};

// The segment of a loaded module that `address` lies in.  The caller is running code of that module (or has
// it on its stack), so it cannot be unloaded meanwhile.  false: none.
bool find_module(uint64_t address, ModuleInfo* info);

// Exported symbols of one module, the one that `address` lies in: addresses[i] is that of names[i], or
// nullptr. false: there is no such module, or it does not export names[0].  At most 64 names.  The module
// stays loaded as for find_module.
bool find_exports_at(uint64_t address, const char* const* names, uint32_t count, const void** addresses);
// The same of the first module, in the loader's order, that exports names[0].  A variable of which the
// executable has the process's copy is that one.  Takes the loader's lock: must not be called from a hook.
bool find_exports(const char* const* names, uint32_t count, const void** addresses);

// The exported symbol that contains `address`: its name (mangled; valid while the module stays loaded) and
// where it starts.  false: none.  Takes the loader's lock and may allocate: must not be called from a hook.
bool find_symbol(uint64_t address, const char** name, uint64_t* start);

// Is another copy of this library in the process, and initialized?  Its path, valid while it stays loaded;
// nullptr: none.
const char* find_other_copy();

}  // namespace memprof::platform
