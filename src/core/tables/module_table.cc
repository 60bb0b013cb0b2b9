// SPDX-License-Identifier: Apache-2.0
#include "core/tables/module_table.h"

#include <cstring>

#include "format/runtime_frame.h"
#include "platform/stack.h"

namespace memprof {

ModuleTable::ModuleTable(const Arena& arena, NameTable* names, Entered entered)
    : arena_(arena), names_(names), entered_(entered), entries_(arena.at<ModuleEntry>(kModuleSection)) {}

uint64_t ModuleTable::size() const {
  return arena_.section(kModuleSection).used_bytes.load(std::memory_order_relaxed) / sizeof(ModuleEntry);
}

uint32_t ModuleTable::unloads_of(uint64_t i) const {
  const ModuleEntry& e = entries_[i];
  const uint32_t unloads = e.unloads.load(std::memory_order_relaxed);
  return is_ready(e.state.load(std::memory_order_acquire)) && (unloads & kUnloaded) != 0 ? unloads : 0;
}

template <typename Visit>
void ModuleTable::each_loaded(const Visit& visit) {
  const uint32_t end = loaded_end_.load(std::memory_order_acquire);
  for (uint32_t slot = 0; slot < end; ++slot) {
    const uint16_t index = loaded_[slot].load(std::memory_order_acquire);
    if (index != 0 && !visit(index - 1u, &loaded_[slot])) {
      return;
    }
  }
}

// Of an entry that is ready.
bool ModuleTable::is(const ModuleEntry& e, const platform::ModuleInfo& info) const {
  if (e.start != info.start || e.limit != info.limit || e.build_id_size != info.build_id_size ||
      memcmp(e.build_id, info.build_id, info.build_id_size) != 0) {
    return false;
  }
  const uint32_t path = e.path;
  if (info.build_id_size != 0) {
    return true;
  }
  const bool is_held = names_->hold(path);
  const bool is_same = is_held && strcmp(names_->text(path), info.path) == 0;
  if (is_held) {
    names_->release(path);
  }
  return is_same;
}

void ModuleTable::add_loaded(uint64_t i) {
  for (uint32_t slot = 0; slot < kMaxModules; ++slot) {
    uint16_t none = 0;
    if (loaded_[slot].load(std::memory_order_relaxed) == 0 &&
        loaded_[slot].compare_exchange_strong(none, static_cast<uint16_t>(i + 1), std::memory_order_release,
                                              std::memory_order_relaxed)) {
      raise(loaded_end_, slot + 1);
      return;
    }
  }
}

// What was unloaded and is there again; otherwise, whether anything was at these addresses.
uint64_t ModuleTable::revive(const platform::ModuleInfo& info, bool* is_overlapping) {
  const uint64_t count = size();
  for (uint64_t i = 0; i < count; ++i) {
    ModuleEntry& e = entries_[i];
    uint32_t unloads = e.unloads.load(std::memory_order_acquire);
    if (!is_ready(e.state.load(std::memory_order_acquire)) || e.start >= info.limit ||
        info.start >= e.limit) {
      continue;
    }
    *is_overlapping = true;
    if ((unloads & kUnloaded) == 0 || !is(e, info)) {
      continue;
    }
    // Another number than before, for a sweep that wants to free it.
    if (e.unloads.compare_exchange_strong(unloads, unloads + 1, std::memory_order_acq_rel)) {
      add_loaded(i);
      return i;
    }
    // Another thread was faster: it is loaded, or another module's.
    if ((unloads & kUnloaded) == 0 && is_ready(e.state.load(std::memory_order_acquire)) && is(e, info)) {
      return i;
    }
  }
  return kNone;
}

// An entry for a new module.
uint64_t ModuleTable::take_entry(bool* is_fresh) {
  const uint64_t offset = arena_.allocate(kModuleSection, sizeof(ModuleEntry));
  *is_fresh = offset != Arena::kNoOffset;
  if (*is_fresh) {
    return offset / sizeof(ModuleEntry);
  }
  const uint64_t count = arena_.header().sweep.free_modules.load(std::memory_order_relaxed) != 0 ? size() : 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t state = entries_[i].state.load(std::memory_order_relaxed);
    if ((state & kFree) != 0 &&
        entries_[i].state.compare_exchange_strong(state, state & ~kFree, std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
      arena_.header().sweep.free_modules.fetch_sub(1, std::memory_order_relaxed);
      return i;
    }
  }
  return kNone;
}

uint64_t ModuleTable::enter(const platform::ModuleInfo& info) {
  uint64_t found = kNone;
  each_loaded([&](uint64_t i, std::atomic<uint16_t>*) {
    found = is(entries_[i], info) ? i : kNone;
    return found == kNone;
  });
  bool is_overlapping = false;
  if (found != kNone || (found = revive(info, &is_overlapping)) != kNone) {
    return found;
  }
  const uint32_t path = names_->intern(info.path, strlen(info.path));
  if (path == NameTable::kNone) {
    count(arena_.header().later_statistics.folded_modules);
    return kNone;
  }
  bool is_fresh = false;
  const uint64_t i = take_entry(&is_fresh);
  if (i == kNone) {
    names_->release(path);
    count(arena_.header().later_statistics.folded_modules);
    return kNone;
  }
  ModuleEntry& e = entries_[i];
  e.path = path;
  e.start = info.start;
  e.limit = info.limit;
  e.file_offset = info.file_offset;
  e.bias = info.bias;
  e.build_id_size = info.build_id_size;
  memcpy(e.build_id, info.build_id, sizeof(e.build_id));
  const bool is_first = is_fresh && !is_overlapping && !has_freed_.load(std::memory_order_relaxed);
  if (!is_first) {
    tag_all_within(info.start, info.limit);
  }
  e.unloads.store((e.unloads.load(std::memory_order_relaxed) | kUnloaded) + 1, std::memory_order_relaxed);
  const uint32_t reuse = e.state.load(std::memory_order_relaxed) & ~(kReuse - 1);
  e.state.store(reuse | kReady | (is_first ? kPrimary : 0),
                std::memory_order_release);  // pairs with the acquire loads of `state`
  add_loaded(i);
  if (entered_ != nullptr) {
    entered_(info.start);
  }
  return i;
}

bool ModuleTable::free_entry(uint64_t i, uint32_t unloads) {
  ModuleEntry& e = entries_[i];
  // As if it had come back: who wants to revive it finds it changed.
  if (!e.unloads.compare_exchange_strong(unloads, unloads + 1, std::memory_order_acq_rel)) {
    return false;
  }
  has_freed_.store(true, std::memory_order_relaxed);
  tag_all_within(0, kAddressMask);  // entries are no longer primary
  const uint32_t path = e.path;
  const uint32_t reuse = e.state.load(std::memory_order_relaxed) & ~(kReuse - 1);
  e.state.store(reuse + kReuse, std::memory_order_release);
  names_->release(path);
  e.state.store((reuse + kReuse) | kFree, std::memory_order_release);
  arena_.header().sweep.free_modules.fetch_add(1, std::memory_order_relaxed);
  return true;
}

namespace {

// The modules that a stack ran through so far: calls go back and forth between a few.
class NotedModules {
 public:
  bool has(uint64_t address) {
    if (is_in(last_, address)) {
      return true;
    }
    for (uint32_t i = 0; i < count_; ++i) {
      if (is_in(i, address)) {
        last_ = i;
        return true;
      }
    }
    return false;
  }
  // A full row forgets the last one.
  void add(const platform::ModuleInfo& info) {
    last_ = count_ < kMax ? count_++ : kMax - 1;
    ranges_[last_] = {info.start, info.limit - info.start};
  }

 private:
  struct Range {
    uint64_t start;
    uint64_t size_bytes;
  };
  bool is_in(uint32_t i, uint64_t address) const {
    return address - ranges_[i].start < ranges_[i].size_bytes;
  }

  static constexpr uint32_t kMax = 8;
  Range ranges_[kMax] = {};
  uint32_t count_ = 0;
  uint32_t last_ = 0;
};

}  // namespace

bool ModuleTable::note(const uint64_t* frames, uint32_t depth) {
  bool replaced = false;
  NotedModules noted;
  for (uint32_t i = 0; i < depth; ++i) {
    const uint64_t address = address_of(frames[i]) - 1;
    if (is_runtime_frame(frames[i]) || entry_of(frames[i]) != UINT32_MAX || frames[i] <= platform::kLastGap ||
        noted.has(address)) {
      continue;  // entered already, or no frame
    }
    platform::ModuleInfo info{};
    if (platform::find_module(address, &info)) {
      noted.add(info);
      uint64_t entry = kNone;
      replaced = retire_replaced(info, &entry) || replaced;
      entry = entry != kNone ? entry : enter(info);
      // Where it is not primary, frames in it need a tag.
      replaced =
          replaced || (entry != kNone && !is_primary(entries_[entry].state.load(std::memory_order_relaxed)));
    }
  }
  return replaced;
}

bool ModuleTable::retire_replaced(const platform::ModuleInfo& info, uint64_t* itself) {
  bool replaced = false;
  each_loaded([&](uint64_t i, std::atomic<uint16_t>* slot) {
    const ModuleEntry& e = entries_[i];
    if (e.start >= info.limit || info.start >= e.limit) {
      return true;
    }
    if (is(e, info)) {
      *itself = i;
    } else {
      retire(i, slot);
      replaced = true;
    }
    return true;
  });
  return replaced;
}

void ModuleTable::tag_all_within(uint64_t start, uint64_t limit) {
  uint64_t first = tagged_start_.load(std::memory_order_relaxed);
  while (start < first && !tagged_start_.compare_exchange_weak(first, start, std::memory_order_relaxed)) {
  }
  raise(tagged_limit_, limit);
}

// The range first: whoever sees the mark must find the entry in it.
void ModuleTable::retire(uint64_t i, std::atomic<uint16_t>* slot) {
  tag_all_within(entries_[i].start, entries_[i].limit);
  auto index = static_cast<uint16_t>(i + 1);
  if (slot->compare_exchange_strong(index, 0, std::memory_order_acq_rel)) {
    entries_[i].unloads.fetch_or(kUnloaded, std::memory_order_release);
  }
}

uint64_t ModuleTable::loaded_at(uint64_t address) {
  uint64_t found = kNone;
  each_loaded([&](uint64_t i, std::atomic<uint16_t>*) {
    found = entries_[i].start <= address && address < entries_[i].limit ? i : kNone;
    return found == kNone;
  });
  platform::ModuleInfo info{};
  if (found == kNone && platform::find_module(address, &info)) {
    found = enter(info);
  }
  return found;
}

void ModuleTable::tag(uint64_t* frames, uint32_t depth) {
  uint64_t limit = tagged_limit_.load(std::memory_order_relaxed);
  if (limit == 0) {
    return;
  }
  uint64_t start = tagged_start_.load(std::memory_order_relaxed);
  for (;;) {
    tag_within(frames, depth, start, limit);
    // An entry that this made may want tags in front of it, too.
    const uint64_t new_limit = tagged_limit_.load(std::memory_order_relaxed);
    const uint64_t new_start = tagged_start_.load(std::memory_order_relaxed);
    if (new_limit == limit && new_start == start) {
      return;
    }
    limit = new_limit;
    start = new_start;
  }
}

void ModuleTable::tag_within(uint64_t* frames, uint32_t depth, uint64_t start, uint64_t limit) {
  uint64_t known_start = 0;  // neighbours of a stack are often of one module
  uint64_t known_limit = 0;
  uint64_t known_tag = 0;
  for (uint32_t i = 0; i < depth; ++i) {
    const uint64_t address = frames[i] - 1;
    if (address < start || address >= limit || frames[i] <= platform::kLastGap) {
      continue;
    }
    if (address < known_start || address >= known_limit) {
      const uint64_t found = loaded_at(address);
      const bool is_known = found != kNone;
      known_start = is_known ? entries_[found].start : address;
      known_limit = is_known ? entries_[found].limit : address + 1;
      known_tag = !is_known                                                           ? kNoEntry
                  : is_primary(entries_[found].state.load(std::memory_order_relaxed)) ? 0
                                                                                      : found + 1;
    }
    frames[i] |= known_tag << kAddressBits;
  }
}

void ModuleTable::retire_unloaded() {
  each_loaded([&](uint64_t i, std::atomic<uint16_t>* slot) {
    platform::ModuleInfo info{};
    if (!platform::find_module(entries_[i].start, &info) || !is(entries_[i], info)) {
      retire(i, slot);
    }
    return true;
  });
}

}  // namespace memprof
