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

void Snapshot::copy_modules(const Source& source, Span<uint32_t>* module_of_entry) {
  const uint64_t count = std::min(source.count<ModuleEntry>(kModuleSection), kMaxModules);
  const ModuleEntry* entries = source.at<ModuleEntry>(kModuleSection);
  for (uint64_t i = 0; i < count; ++i) {
    const ModuleEntry& e = entries[i];
    module_of_entry->data[module_of_entry->size++] = kNoModule;
    // acquire pairs with the release in module_table.cc.
    if (e.state.load(std::memory_order_acquire) != ModuleTable::kReady) {
      continue;
    }
    const uint32_t build_id_size = load_once(e.build_id_size);
    SnapshotModule m{load_once(e.start),
                     load_once(e.limit),
                     load_once(e.file_offset),
                     load_once(e.bias),
                     0,
                     std::min(build_id_size, platform::kMaxBuildIdBytes),
                     e.is_unloaded.load(std::memory_order_relaxed) != 0 ? kModuleUnloaded : 0,
                     {}};
    memcpy(m.build_id, e.build_id, sizeof(m.build_id));
    if (m.start >= m.limit) {
      continue;
    }
    const uint64_t strings_before = strings.size;
    m.path_offset = copy_name(source, load_once(e.path));
    uint32_t index = find_same(m);
    if (index != kNoModule) {
      strings.size = strings_before;
    } else {
      index = static_cast<uint32_t>(modules.size++);
      modules.data[index] = m;
    }
    module_of_entry->data[i] = index;
  }
}

// Takes the tags off the frames (core/tables/module_table.h).
void Snapshot::find_frame_modules(const Span<uint32_t>& module_of_entry) {
  frame_modules.size = frames.size;
  uint32_t last = kNoModule;  // neighbours of a stack are often of one module
  const auto contains = [&](uint32_t index, uint64_t address) {
    return modules.data[index].start <= address && address < modules.data[index].limit;
  };
  bool overlap = false;
  for (uint64_t i = 0; i < modules.size && !overlap; ++i) {
    for (uint64_t j = 0; j < i && !overlap; ++j) {
      overlap =
          modules.data[i].start < modules.data[j].limit && modules.data[j].start < modules.data[i].limit;
    }
  }
  for (uint64_t i = 0; i < frames.size; ++i) {
    uint32_t& found = frame_modules.data[i];
    found = kNoModule;
    if (is_runtime_frame(frames.data[i])) {
      continue;
    }
    const uint32_t entry = ModuleTable::entry_of(frames.data[i]);
    frames.data[i] = ModuleTable::address_of(frames.data[i]);
    if (entry != UINT32_MAX) {
      found = entry < module_of_entry.size ? module_of_entry.data[entry] : kNoModule;
      continue;
    }
    const uint64_t address = frames.data[i] - 1;
    if (!overlap && last != kNoModule && contains(last, address)) {
      found = last;
      continue;
    }
    for (uint32_t m = 0; m < modules.size && found == kNoModule; ++m) {
      found = contains(m, address) ? m : kNoModule;
    }
    last = found;
  }
}

}  // namespace memprof
