// SPDX-License-Identifier: Apache-2.0
#include "core/module_table.h"

#include <cstring>

namespace memprof {

ModuleTable::ModuleTable(const Arena& arena, NameTable* names)
    : arena_(arena), names_(names), entries_(arena.at<ModuleEntry>(kModuleSection)) {}

uint64_t ModuleTable::size() const {
  return arena_.section(kModuleSection).used_bytes.load(std::memory_order_relaxed) / sizeof(ModuleEntry);
}

bool ModuleTable::knows(const platform::ModuleInfo& info) const {
  // From the latest: what is loaded now shadows what was there before.
  for (uint64_t i = size(); i-- > 0;) {
    const ModuleEntry& e = entries_[i];
    if (e.state.load(std::memory_order_acquire) == kReady && e.start < info.limit && info.start < e.limit) {
      return e.start == info.start && e.limit == info.limit && e.build_id_size == info.build_id_size &&
             memcmp(e.build_id, info.build_id, info.build_id_size) == 0 &&
             (info.build_id_size != 0 || strcmp(names_->text(e.path), info.path) == 0);
    }
  }
  return false;
}

void ModuleTable::enter(const platform::ModuleInfo& info) {
  const uint32_t path = names_->intern(info.path, strlen(info.path));
  if (path == NameTable::kNone) {
    return;
  }
  const uint64_t offset = arena_.allocate(kModuleSection, sizeof(ModuleEntry));
  if (offset == Arena::kNoOffset) {
    return;
  }
  ModuleEntry& e = *arena_.at<ModuleEntry>(kModuleSection, offset);
  e.path = path;
  e.start = info.start;
  e.limit = info.limit;
  e.file_offset = info.file_offset;
  e.bias = info.bias;
  e.build_id_size = info.build_id_size;
  memcpy(e.build_id, info.build_id, sizeof(e.build_id));
  e.state.store(kReady, std::memory_order_release);  // pairs with the acquire loads of `state`
}

void ModuleTable::note(const uint64_t* frames, uint32_t depth) {
  platform::ModuleInfo info{};
  for (uint32_t i = 0; i < depth; ++i) {
    const uint64_t address = frames[i] - 1;
    if (address >= info.start && address < info.limit) {
      continue;  // the same module as the frame before
    }
    if (platform::find_module(address, &info)) {
      if (!knows(info)) {
        enter(info);
      }
    } else {
      info = {};
    }
  }
}

}  // namespace memprof
