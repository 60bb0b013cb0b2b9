// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that reads the program's own mappings (core/mappings/mapping_table.h).
//
// The nodes are read as they lie, not by the list: a writer that died in the middle of a change, or a hostile one,
// leaves no list to follow.  While somebody changes the table they are read again, a bounded number of times; what
// then overlaps is left out.
#include <algorithm>

#include "core/mappings/mapping_table.h"
#include "core/reader/snapshot_source.h"
#include "core/tables/stack_table.h"

namespace memprof {
namespace {

constexpr int kMappingTries = 100;

}  // namespace

void Snapshot::copy_mappings(Source* source) {
  if (!source->has_mappings()) {
    return;
  }
  const uint64_t room = source->capacities[kMappingSection] / sizeof(MappingNode);
  for (int tries = 0; tries < kMappingTries; ++tries) {
    source->refresh();
    const MappingState& state = source->header().mappings;
    const uint64_t changes = state.changes.load(std::memory_order_acquire);
    source->load(kMappingSection);
    const uint64_t count = std::min(source->count<MappingNode>(kMappingSection), room);
    const MappingNode* nodes = source->at<MappingNode>(kMappingSection);
    mappings.size = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const MappingNode& n = nodes[i];
      const uint64_t start = n.start.load(std::memory_order_acquire);
      const uint64_t limit = n.limit.load(std::memory_order_relaxed);
      if (start == 0 || start >= limit || MappingTable::by_of(n) != MappedBy::kProgram) {
        continue;
      }
      const uint64_t in_memory = n.resident_bytes.load(std::memory_order_relaxed);
      mappings.data[mappings.size++] = {start,
                                        limit,
                                        std::min(in_memory, limit - start),
                                        n.time_ns.load(std::memory_order_relaxed),
                                        n.stack.load(std::memory_order_relaxed),
                                        n.thread_id.load(std::memory_order_relaxed)};
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    source->refresh();
    if (changes % 2 == 0 && state.changes.load(std::memory_order_acquire) == changes) {
      break;
    }
  }
  const MappingMeasure& measure = source->header().mappings.measure;
  measured.time_ns = measure.time_ns.load(std::memory_order_relaxed);
  const uint64_t recorded = source->header().mappings.is_on.load(std::memory_order_relaxed);
  has_mappings = recorded == kRecordedAsked || (recorded == kRecordedUnasked && measured.time_ns != 0);
  has_resident_mappings = has_mappings && measured.time_ns != 0;
  measured.resident_bytes = measure.resident_bytes.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < static_cast<uint32_t>(MemoryPart::kCount); ++i) {
    measured.parts[i] = measure.parts[i].load(std::memory_order_relaxed);
  }
}

// In the order of addresses, without what overlaps, and with stacks as indices.
void Snapshot::match_mappings(const Source& source) {
  std::sort(mappings.data, mappings.data + mappings.size,
            [](const SnapshotMapping& a, const SnapshotMapping& b) { return a.start < b.start; });
  uint64_t kept = 0;
  for (uint64_t i = 0; i < mappings.size; ++i) {
    SnapshotMapping m = mappings.data[i];
    m.stack_id = stack_index(source, m.stack_id);
    if (m.stack_id < stacks.size && (kept == 0 || mappings.data[kept - 1].limit <= m.start)) {
      mappings.data[kept++] = m;
    }
  }
  mappings.size = kept;
}

}  // namespace memprof
