// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_tables.h"

#include <new>

#include "core/arena/levels.h"
#include "platform/linux/interpose/hook_table.h"
#include "platform/memory.h"

namespace memprof::platform {

void ImportTables::forget() {
  kept_ = 0;
  used_bytes_ = 0;
  if (pages_ != nullptr) {
    for (ImportTable*& place : pages_->places) {
      place = nullptr;
    }
  }
}

// Where it is, or may be put; never more than half full.
ImportTable** ImportTables::place_of(const dl_phdr_info& module) {
  for (uint64_t i = mix_hash(module.dlpi_addr ^ mix_hash(reinterpret_cast<uint64_t>(module.dlpi_phdr)));;
       ++i) {
    ImportTable** const place = &pages_->places[i % kPlaces];
    if (*place == nullptr || (*place)->is_of(module)) {
      return place;
    }
  }
}

const ImportTable& ImportTables::of(const dl_phdr_info& module) {
  if (wanted_.count == 0) {
    for (uint32_t i = 0; i < interpose::g_hook_count; ++i) {
      names_[i] = interpose::g_hooks[i].name;
    }
    wanted_ = WantedNames(names_, interpose::g_hook_count);
    pages_ = static_cast<Pages*>(reserve_pages(sizeof(Pages)));
  }
  if (module.dlpi_subs != unloads_) {
    forget();
    unloads_ = module.dlpi_subs;
  }
  ImportTable** const place = pages_ != nullptr ? place_of(module) : nullptr;
  if (place != nullptr && *place != nullptr) {
    return **place;
  }
  const bool has_room = place != nullptr && kept_ < kMax && used_bytes_ + kMaxBytes <= sizeof(pages_->tables);
  char* const at = has_room ? pages_->tables + used_bytes_ : single_;
  auto* const room = reinterpret_cast<ImportTable::Room*>(at + sizeof(ImportTable));
  auto* const table = new (at) ImportTable(module, wanted_, room);
  if (has_room) {
    *place = table;
    ++kept_;
    used_bytes_ += sizeof(ImportTable) + table->used_bytes();
  }
  return *table;
}

}  // namespace memprof::platform
