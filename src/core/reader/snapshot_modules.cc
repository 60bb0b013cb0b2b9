// SPDX-License-Identifier: Apache-2.0
// The modules of a snapshot, and which of them each frame lies in.
#include <algorithm>
#include <cstring>

#include "core/reader/snapshot_source.h"
#include "core/tables/module_table.h"
#include "format/runtime_frame.h"

namespace memprof {

// Two threads that met a module first at the same moment may both have entered it, with others in between.
uint32_t Snapshot::find_same(const SnapshotModule& m) const {
  for (uint32_t i = 0; i < modules.size; ++i) {
    const SnapshotModule& other = modules.data[i];
    if (other.start == m.start && other.limit == m.limit && other.build_id_size == m.build_id_size &&
        memcmp(other.build_id, m.build_id, m.build_id_size) == 0 &&
        strcmp(strings.data + other.path_offset, strings.data + m.path_offset) == 0) {
      return i;
    }
  }
  return kNoModule;
}

// Of each entry that there is, before the stacks are read.
void Snapshot::note_module_states(const Source& source, Span<uint32_t>* states) {
  const uint64_t count = std::min(source.count<ModuleEntry>(kModuleSection), kMaxModules);
  const ModuleEntry* entries = source.at<ModuleEntry>(kModuleSection);
  for (; states->size < count; ++states->size) {
    // acquire pairs with the release in module_table.cc.
    states->data[states->size] = entries[states->size].state.load(std::memory_order_acquire);
  }
}

// As many modules as entries, until check_modules(): one without addresses where there is none.
void Snapshot::copy_modules(const Source& source, const Span<uint32_t>& states) {
  const uint64_t count = std::min(source.count<ModuleEntry>(kModuleSection), kMaxModules);
  const ModuleEntry* entries = source.at<ModuleEntry>(kModuleSection);
  const bool knows_primary = source.header().version >= kFirstVersionOfPrimaryModules;
  for (uint64_t i = 0; i < count; ++i) {
    const ModuleEntry& e = entries[i];
    SnapshotModule& m = modules.data[i];
    m = {};
    const uint32_t state = e.state.load(std::memory_order_acquire);
    // Where the entry was another module's when the stacks were read, nobody knows which one a frame means.
    const bool is_another =
        i < states.size && ModuleTable::is_ready(states.data[i]) && states.data[i] != state;
    if (!ModuleTable::is_ready(state) || is_another) {
      continue;
    }
    m = {load_once(e.start),
         load_once(e.limit),
         load_once(e.file_offset),
         load_once(e.bias),
         state,  // until check_modules()
         std::min(load_once(e.build_id_size), platform::kMaxBuildIdBytes),
         (e.unloads.load(std::memory_order_relaxed) & ModuleTable::kUnloaded) != 0 ? kModuleUnloaded : 0,
         {}};
    m.flags |= !knows_primary || ModuleTable::is_primary(state) ? kModuleIsPrimary : 0;
    memcpy(m.build_id, e.build_id, sizeof(m.build_id));
    if (m.start >= m.limit) {
      m = {};
    }
  }
  modules.size = count;
}

// Those whose entries are theirs still, each once, with their names.
void Snapshot::check_modules(const Source& source, Span<uint32_t>* module_of_entry) {
  const ModuleEntry* entries = source.at<ModuleEntry>(kModuleSection);
  const uint64_t count = modules.size;
  modules.size = 0;
  module_of_entry->size = count;
  for (uint64_t i = 0; i < count; ++i) {
    SnapshotModule m = modules.data[i];
    const auto state = static_cast<uint32_t>(m.path_offset);
    const uint64_t strings_before = strings.size;
    uint32_t index = kNoModule;
    if (m.limit != 0) {
      m.path_offset = copy_name(source, load_once(entries[i].path));
      std::atomic_thread_fence(std::memory_order_acquire);  // the name was read before the state is
      if (entries[i].state.load(std::memory_order_relaxed) == state) {
        index = find_same(m);
        if (index == kNoModule) {
          index = static_cast<uint32_t>(modules.size++);
          modules.data[index] = m;
        } else {
          strings.size = strings_before;
          modules.data[index].flags |= m.flags & kModuleIsPrimary;
        }
      }
    }
    module_of_entry->data[i] = index;
  }
}

// Takes the tags off the frames (core/tables/module_table.h).
void Snapshot::find_frame_modules(const Span<uint32_t>& module_of_entry) {
  uint32_t last = kNoModule;  // neighbours of a stack are often of one module
  const auto contains = [&](uint32_t index, uint64_t address) {
    return (modules.data[index].flags & kModuleIsPrimary) != 0 && modules.data[index].start <= address &&
           address < modules.data[index].limit;
  };
  bool overlap = false;
  for (uint64_t i = 0; i < modules.size && !overlap; ++i) {
    for (uint64_t j = 0; j < i && !overlap; ++j) {
      overlap =
          modules.data[i].start < modules.data[j].limit && modules.data[j].start < modules.data[i].limit;
    }
  }
  for_each_frame([&](uint64_t* frame, uint32_t* module) {
    uint32_t& found = *module;
    found = kNoModule;
    if (is_runtime_frame(*frame)) {
      return;
    }
    const uint32_t entry = ModuleTable::entry_of(*frame);
    *frame = ModuleTable::address_of(*frame);
    if (entry != UINT32_MAX) {
      found = entry < module_of_entry.size ? module_of_entry.data[entry] : kNoModule;
      return;
    }
    const uint64_t address = *frame - 1;
    if (!overlap && last != kNoModule && contains(last, address)) {
      found = last;
      return;
    }
    for (uint32_t m = 0; m < modules.size && found == kNoModule; ++m) {
      found = contains(m, address) ? m : kNoModule;
    }
    last = found;
  });
  for (uint64_t i = 0; i < modules.size; ++i) {
    modules.data[i].flags &= ~kModuleIsPrimary;
  }
}

}  // namespace memprof
