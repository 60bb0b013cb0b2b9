// SPDX-License-Identifier: Apache-2.0
// Snapshots of the public C API (include/memprof.h): taken, opened, read, written.
#include "core/reader/snapshot.h"

#include <cstddef>

#include "capi/call.h"
#include "core/sampling/sampler.h"
#include "dump/dump.h"
#include "dump/runtime_heap.h"
#include "format/lifetime_class.h"
#include "memprof.h"
#include "platform/imports.h"

using memprof::Snapshot;
using memprof::SnapshotTotals;
using memprof::capi::give;
using memprof::capi::KeepErrno;
using memprof::capi::kMinBytes;
using memprof::capi::ours;
using memprof::capi::take;

// A snapshot's arrays are handed out as they stand.
#define MEMPROF_SAME_LAYOUT(PUBLIC, OURS, LAST)            \
  static_assert(sizeof(PUBLIC) == sizeof(memprof::OURS) && \
                offsetof(PUBLIC, LAST) == offsetof(memprof::OURS, LAST))
static_assert(sizeof(memprof_record) == sizeof(memprof::SnapshotRecord) &&
              offsetof(memprof_record, thread_id) == offsetof(memprof::SampleFields, thread_id) &&
              offsetof(memprof_record, weight_bytes) == sizeof(memprof::SampleFields));
MEMPROF_SAME_LAYOUT(memprof_totals, SnapshotTotals, max_missed_count);
MEMPROF_SAME_LAYOUT(memprof_stack, SnapshotStack, max_lifetime_ns);
MEMPROF_SAME_LAYOUT(memprof_lifetime, SnapshotLifetime, weight_count);
MEMPROF_SAME_LAYOUT(memprof_rate_use, RateUse, time_ns);
MEMPROF_SAME_LAYOUT(memprof_module, SnapshotModule, build_id);
MEMPROF_SAME_LAYOUT(memprof_symbol, SnapshotSymbol, symbol_offset);
MEMPROF_SAME_LAYOUT(memprof_heap, SnapshotHeap, name_offset);
MEMPROF_SAME_LAYOUT(memprof_mapping, SnapshotMapping, thread_id);
MEMPROF_SAME_LAYOUT(memprof_runtime_frame, SnapshotRuntimeFrame, reserved);
MEMPROF_SAME_LAYOUT(memprof_runtime_heap, RuntimeHeap, large_bytes);
MEMPROF_SAME_LAYOUT(memprof_runtime_heap_node, RuntimeHeapNode, parent);
static_assert(MEMPROF_MODULE_UNLOADED == memprof::kModuleUnloaded);

namespace {

template <typename Public, typename T>
const Public* array(const memprof::Span<T>& span, uint64_t* count) {
  if (count != nullptr) {
    *count = span.size;
  }
  return reinterpret_cast<const Public*>(span.data);
}

// nullptr and 0 elements without a snapshot.
template <typename Public, typename T>
const Public* array(const memprof_snapshot* snapshot, memprof::Span<T> Snapshot::* member, uint64_t* count) {
  return array<Public>(snapshot != nullptr ? ours(snapshot)->*member : memprof::Span<T>{}, count);
}

}  // namespace

extern "C" {

int memprof_get_snapshot(memprof_snapshot** snapshot) {
  const KeepErrno keep;
  if (snapshot == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  Snapshot* taken = nullptr;
  memprof::platform::recheck_imports();
  const int error = memprof::take_snapshot(&taken);
  *snapshot = reinterpret_cast<memprof_snapshot*>(taken);
  return error;
}

void memprof_free_snapshot(memprof_snapshot* snapshot) {
  const KeepErrno keep;
  Snapshot::release(reinterpret_cast<Snapshot*>(snapshot));
}

int memprof_snapshot_open(const char* path, memprof_snapshot** snapshot) {
  if (path == nullptr || snapshot == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  KeepErrno keep;
  Snapshot* opened = nullptr;
  const int error = memprof::open_snapshot(path, &opened);
  *snapshot = reinterpret_cast<memprof_snapshot*>(opened);
  return keep.result(error);
}

int memprof_snapshot_get_info(const memprof_snapshot* snapshot, memprof_snapshot_info* info) {
  if (snapshot == nullptr || info == nullptr || info->struct_size < kMinBytes) {
    return MEMPROF_ERR_INVALID;
  }
  const Snapshot& s = *ours(snapshot);
  memprof_snapshot_info out{};
  out.pid = s.process_id;
  out.rate_bytes = s.rate_bytes;
  out.time_unix_ns = s.time_unix_ns;
  out.time_ns = s.time_ns;
  out.start_ns = s.start_ns;
  out.end_ns = s.end_ns;
  out.pid_namespace = s.process_namespace;
  out.live_weight_bytes = s.live_weight_bytes;
  out.live_weight_count = s.live_weight_count;
  out.end_begun_ns = s.end_begun_ns;
  out.peak_ns = s.peak.time_ns;
  out.peak_weight_bytes = s.peak.weight_bytes;
  out.peak_weight_count = s.peak.weight_count;
  out.peak_resident_bytes = s.peak.resident_bytes;
  out.max_resident_bytes = s.peak.max_resident_bytes;
  out.peak_files_bytes = s.peak.files_bytes;
  out.peak_free_bytes = s.peak.free_bytes;
  return give(out, info);
}

const char* memprof_snapshot_program(const memprof_snapshot* snapshot) {
  return snapshot != nullptr ? ours(snapshot)->program() : "";
}

const memprof_record* memprof_snapshot_records(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_record>(snapshot, &Snapshot::records, count);
}

const memprof_totals* memprof_snapshot_peaks(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_totals>(snapshot, &Snapshot::peaks, count);
}

const memprof_lifetime* memprof_snapshot_lifetimes(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_lifetime>(snapshot, &Snapshot::lifetimes, count);
}

const memprof_rate_use* memprof_snapshot_rates(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_rate_use>(snapshot, &Snapshot::rates, count);
}

const memprof_mapping* memprof_snapshot_mappings(const memprof_snapshot* snapshot, uint64_t* count) {
  const bool has_any = snapshot != nullptr && ours(snapshot)->has_mappings;
  return array<memprof_mapping>(has_any ? snapshot : nullptr, &Snapshot::mappings, count);
}

int memprof_snapshot_get_memory(const memprof_snapshot* snapshot, memprof_memory* memory) {
  constexpr uint32_t kFirstBytes =
      offsetof(memprof_memory, unseen_bytes) + sizeof(memprof_memory::unseen_bytes);
  if (snapshot == nullptr || memory == nullptr || memory->struct_size < kFirstBytes) {
    return MEMPROF_ERR_INVALID;
  }
  using memprof::MemoryPart;
  const memprof::SnapshotMemory& from = ours(snapshot)->measured;
  const auto part = [&from](MemoryPart of) { return from.parts[static_cast<uint32_t>(of)]; };
  memprof_memory out{};
  out.time_ns = from.time_ns;
  out.resident_bytes = from.resident_bytes;
  out.mapped_bytes = part(MemoryPart::kMapped);
  out.allocator_bytes = part(MemoryPart::kAllocator);
  out.malloc_bytes = part(MemoryPart::kMalloc);
  out.stack_bytes = part(MemoryPart::kStacks);
  out.module_bytes = part(MemoryPart::kModules);
  out.own_bytes = part(MemoryPart::kOwn);
  out.unseen_bytes = part(MemoryPart::kUnseen);
  return give(out, memory);
}

const uint64_t* memprof_lifetime_bounds(uint64_t* count) {
  if (count != nullptr) {
    *count = memprof::kLifetimeBounds;
  }
  return memprof::kLifetimeScale.bounds_ns;
}

int memprof_snapshot_younger(const memprof_snapshot* snapshot, uint64_t lifetime_ns, memprof_totals* totals,
                             uint64_t count, uint64_t* used_ns) {
  if (snapshot == nullptr || totals == nullptr || count > ours(snapshot)->stacks.size || lifetime_ns == 0) {
    return MEMPROF_ERR_INVALID;
  }
  const uint64_t used =
      ours(snapshot)->sum_younger(lifetime_ns, reinterpret_cast<SnapshotTotals*>(totals), count);
  if (used_ns != nullptr) {
    *used_ns = used;
  }
  return MEMPROF_OK;
}

const memprof_stack* memprof_snapshot_stacks(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_stack>(snapshot, &Snapshot::stacks, count);
}

const uint64_t* memprof_snapshot_frames(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<uint64_t>(snapshot != nullptr ? ours(snapshot)->flat_frames() : memprof::Span<uint64_t>{},
                         count);
}

const memprof_runtime_frame* memprof_snapshot_runtime_frames(const memprof_snapshot* snapshot,
                                                             uint64_t* count) {
  return array<memprof_runtime_frame>(snapshot, &Snapshot::runtime_frames, count);
}

const uint32_t* memprof_snapshot_frame_modules(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<uint32_t>(
      snapshot != nullptr ? ours(snapshot)->flat_frame_modules() : memprof::Span<uint32_t>{}, count);
}

const memprof_module* memprof_snapshot_modules(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_module>(snapshot, &Snapshot::modules, count);
}

const uint32_t* memprof_snapshot_stack_heaps(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<uint32_t>(snapshot, &Snapshot::stack_heaps, count);
}

const memprof_heap* memprof_snapshot_heaps(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_heap>(snapshot, &Snapshot::heaps, count);
}

const char* memprof_snapshot_strings(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<char>(snapshot, &Snapshot::strings, count);
}

const memprof_symbol* memprof_snapshot_symbols(const memprof_snapshot* snapshot, uint64_t* count) {
  return array<memprof_symbol>(snapshot, &Snapshot::symbols, count);
}

int64_t memprof_resolve_symbols(memprof_snapshot* snapshot) {
  const KeepErrno keep;
  if (snapshot == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  memprof::MuteScope mute;  // the loader may allocate
  const int64_t found = reinterpret_cast<Snapshot*>(snapshot)->resolve_symbols();
  return found >= 0 ? found : int64_t{MEMPROF_ERR_NO_MEMORY};
}

int memprof_snapshot_write_fd(const memprof_snapshot* snapshot, int fd) {
  KeepErrno keep;
  return snapshot == nullptr || fd < 0 ? MEMPROF_ERR_INVALID
                                       : keep.result(memprof::write_snapshot(*ours(snapshot), fd));
}

int memprof_snapshot_write_profile(const memprof_snapshot* snapshot, const char* path, uint32_t flags,
                                   const memprof_runtime_heap* heap) {
  constexpr size_t kFirstBytes = offsetof(memprof_runtime_heap, young_bytes);  // the struct as it was first
  if (snapshot == nullptr || path == nullptr || (flags & ~uint32_t{MEMPROF_WRITE_OVERWRITE}) != 0 ||
      (heap != nullptr && (heap->struct_size < kFirstBytes || heap->runtime != MEMPROF_RUNTIME_V8))) {
    return MEMPROF_ERR_INVALID;
  }
  const memprof::RuntimeHeap given =
      heap != nullptr ? take<memprof::RuntimeHeap>(*heap) : memprof::RuntimeHeap{};
  const memprof::RuntimeHeap* const js = heap != nullptr ? &given : nullptr;
  if (js != nullptr && !memprof::is_tree(*js)) {
    return MEMPROF_ERR_INVALID;
  }
  KeepErrno keep;
  return keep.result(memprof::write_profile_file(path, (flags & MEMPROF_WRITE_OVERWRITE) != 0, nullptr, 0,
                                                 ours(snapshot), js));
}

}  // extern "C"
