// SPDX-License-Identifier: Apache-2.0
// The import tables of the process's modules, with the names of all hooks, each read once: a start asks for each
// three times, and a later start again.
//
// Model: what was found is kept until a module is unloaded, since another can be loaded in its place then. Some
// 1 KB for a module, in pages of its own; a module for which there is no room is read each time.
//
// Threads: one at a time.
// Allocates: pages of its own.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "platform/linux/imports/import_table.h"

namespace memprof::platform {

class ImportTables {
 public:
  // Of a module in the loader's callback; valid until the next call.
  const ImportTable& of(const dl_phdr_info& module);

  // Modules whose tables are kept.
  uint32_t kept() const { return kept_; }

 private:
  static constexpr uint32_t kPlaces = 2048;
  static constexpr uint32_t kMax = kPlaces / 2;
  static constexpr size_t kMaxBytes = sizeof(ImportTable) + sizeof(ImportTable::Room);
  struct Pages {
    ImportTable* places[kPlaces];
    alignas(8) char tables[kMax * size_t{2048}];  // each with what is in use of its room
  };

  void forget();
  ImportTable** place_of(const dl_phdr_info& module);

  const char* names_[WantedNames::kMax] = {};
  WantedNames wanted_;
  Pages* pages_ = nullptr;
  size_t used_bytes_ = 0;
  uint32_t kept_ = 0;
  uint64_t unloads_ = 0;
  alignas(8) char single_[kMaxBytes] = {};  // of a module for which there is no room
};

}  // namespace memprof::platform
