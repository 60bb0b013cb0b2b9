// SPDX-License-Identifier: Apache-2.0
#include "core/tables/module_table.h"

#include <cstring>

#include "format/runtime_frame.h"
#include "platform/stack.h"

namespace memprof {

ModuleTable::ModuleTable(const Arena& arena, NameTable* names)
    : arena_(arena), names_(names), entries_(arena.at<ModuleEntry>(kModuleSection)) {}

uint64_t ModuleTable::size() const {
  return arena_.section(kModuleSection).used_bytes.load(std::memory_order_relaxed) / sizeof(ModuleEntry);
}

uint64_t ModuleTable::code_of(uint64_t i) const {
  const ModuleEntry& e = entries_[i];
  return e.state.load(std::memory_order_acquire) == kReady ? e.start : 0;
}

bool ModuleTable::is(const ModuleEntry& e, const platform::ModuleInfo& info) const {
  return e.start == info.start && e.limit == info.limit && e.build_id_size == info.build_id_size &&
         memcmp(e.build_id, info.build_id, info.build_id_size) == 0 &&
         (info.build_id_size != 0 || strcmp(names_->text(e.path), info.path) == 0);
}

uint64_t ModuleTable::enter(const platform::ModuleInfo& info) {
  const uint64_t count = size();
  for (uint64_t i = 0; i < count; ++i) {
    ModuleEntry& e = entries_[i];
    if (e.state.load(std::memory_order_acquire) == kReady && is(e, info)) {
      if (e.is_unloaded.load(std::memory_order_relaxed) != 0) {
        e.is_unloaded.store(0, std::memory_order_relaxed);
      }
      return i;
    }
  }
  const uint32_t path = names_->intern(info.path, strlen(info.path));
  if (path == NameTable::kNone) {
    return kNone;
  }
  const uint64_t offset = arena_.allocate(kModuleSection, sizeof(ModuleEntry));
  if (offset == Arena::kNoOffset) {
    return kNone;
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
  return offset / sizeof(ModuleEntry);
}

bool ModuleTable::note(const uint64_t* frames, uint32_t depth) {
  bool replaced = false;
  platform::ModuleInfo info{};
  for (uint32_t i = 0; i < depth; ++i) {
    const uint64_t address = address_of(frames[i]) - 1;
    if (is_runtime_frame(frames[i]) || entry_of(frames[i]) != UINT32_MAX ||
        (address >= info.start && address < info.limit) || frames[i] <= platform::kOlderStacks) {
      continue;  // entered already, or the same module as the frame before, or no frame
    }
    if (platform::find_module(address, &info)) {
      replaced = retire_replaced(info) || replaced;
      enter(info);
    } else {
      info = {};
    }
  }
  return replaced;
}

bool ModuleTable::retire_replaced(const platform::ModuleInfo& info) {
  bool replaced = false;
  const uint64_t count = size();
  for (uint64_t i = 0; i < count; ++i) {
    ModuleEntry& e = entries_[i];
    if (e.state.load(std::memory_order_acquire) == kReady && e.start < info.limit && info.start < e.limit &&
        e.is_unloaded.load(std::memory_order_relaxed) == 0 && !is(e, info)) {
      retire(e);
      replaced = true;
    }
  }
  return replaced;
}

// The range first: whoever sees the mark must find the entry in it.
void ModuleTable::retire(ModuleEntry& entry) {
  uint64_t start = retired_start_.load(std::memory_order_relaxed);
  while (entry.start < start &&
         !retired_start_.compare_exchange_weak(start, entry.start, std::memory_order_relaxed)) {
  }
  raise(retired_limit_, entry.limit);
  entry.is_unloaded.store(1, std::memory_order_relaxed);
}

uint64_t ModuleTable::tag_of(uint64_t address) {
  uint64_t first = kNone;
  uint64_t loaded = kNone;
  const uint64_t count = size();
  for (uint64_t i = 0; i < count; ++i) {
    const ModuleEntry& e = entries_[i];
    if (e.state.load(std::memory_order_acquire) == kReady && e.start <= address && address < e.limit) {
      first = first == kNone ? i : first;
      loaded = e.is_unloaded.load(std::memory_order_relaxed) == 0 ? i : loaded;
    }
  }
  if (first == kNone) {
    return 0;
  }
  if (loaded == kNone) {
    platform::ModuleInfo info{};
    loaded = platform::find_module(address, &info) ? enter(info) : kNone;
  }
  return loaded == kNone || loaded == first ? 0 : (loaded + 1) << kAddressBits;
}

void ModuleTable::tag(uint64_t* frames, uint32_t depth) {
  const uint64_t limit = retired_limit_.load(std::memory_order_relaxed);
  if (limit == 0) {
    return;
  }
  const uint64_t start = retired_start_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < depth; ++i) {
    const uint64_t address = frames[i] - 1;
    if (address >= start && address < limit) {
      frames[i] |= tag_of(address);
    }
  }
}

void ModuleTable::retire_unloaded() {
  const uint64_t count = size();
  for (uint64_t i = 0; i < count; ++i) {
    ModuleEntry& e = entries_[i];
    platform::ModuleInfo info{};
    if (e.state.load(std::memory_order_acquire) != kReady ||
        e.is_unloaded.load(std::memory_order_relaxed) != 0 ||
        (platform::find_module(e.start, &info) && is(e, info))) {
      continue;
    }
    retire(e);
  }
}

}  // namespace memprof
