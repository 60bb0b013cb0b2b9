// SPDX-License-Identifier: Apache-2.0
// What a loaded module exports, of a given list of names: a reader of its dynamic symbols that takes no lock.
//
// Model: each name is looked up in the module's own hash table (DT_GNU_HASH, else DT_HASH). Undefined
// symbols, thread-local ones and IFUNCs do not count: they have no address that could be given.
//
// Threads, signals: any; the module cannot be unloaded meanwhile (the caller runs in it, or is in the
// loader's callback).
// Allocates: never.
// Failure: a table that lies outside of the module's segments is taken for absent.
#pragma once

#include <link.h>

#include <cstdint>

#include "platform/linux/modules/dynamic_section.h"

namespace memprof::platform {

class ExportTable {
 public:
  explicit ExportTable(const dl_phdr_info& module) : module_(module), section_(module) {}

  // nullptr: the module does not export it.  *is_data, if it is not nullptr: a variable, not a function.
  const void* find(const char* name, bool* is_data = nullptr) const;

 private:
  const void* symbol(uint64_t index, const char* name, bool* is_data) const;
  const void* find_by_gnu_hash(const char* name, bool* is_data) const;
  const void* find_by_hash(const char* name, bool* is_data) const;

  const dl_phdr_info& module_;
  const DynamicSection section_;
};

}  // namespace memprof::platform
