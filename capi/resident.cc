// SPDX-License-Identifier: Apache-2.0
// memprof_resident of include/memprof.h: what the process of a snapshot has in memory.
#include "format/resident.h"
#include "capi/call.h"
#include "dump/resident_memory.h"
#include "memprof.h"

using memprof::ResidentMemory;
using memprof::Snapshot;
using memprof::capi::give;
using memprof::capi::KeepErrno;
using memprof::capi::kMinBytes;
using memprof::capi::ours;

static_assert(MEMPROF_RESIDENT_FREE_KNOWN == memprof::kResidentFreeKnown &&
              MEMPROF_RESIDENT_FREE_CUT == memprof::kResidentFreeCut &&
              MEMPROF_RESIDENT_CUT == memprof::kResidentCut &&
              MEMPROF_RESIDENT_JEMALLOC == memprof::kResidentJemalloc &&
              MEMPROF_RESIDENT_TCMALLOC == memprof::kResidentTcmalloc &&
              MEMPROF_RESIDENT_COUNTED == memprof::kResidentCounted &&
              MEMPROF_RESIDENT_NO_GLIBC == memprof::kResidentNoGlibc &&
              MEMPROF_RESIDENT_OTHER_HEAP == memprof::kResidentOtherHeap &&
              MEMPROF_RESIDENT_HEAP_CUT == memprof::kResidentHeapCut);

extern "C" {

int memprof_snapshot_read_resident(memprof_snapshot* snapshot, uint32_t pid) {
  KeepErrno keep;
  return snapshot == nullptr
             ? MEMPROF_ERR_INVALID
             : keep.result(memprof::read_resident_memory(reinterpret_cast<Snapshot*>(snapshot), pid));
}

int memprof_snapshot_get_resident(const memprof_snapshot* snapshot, memprof_resident* resident) {
  if (snapshot == nullptr || resident == nullptr || resident->struct_size < kMinBytes) {
    return MEMPROF_ERR_INVALID;
  }
  const ResidentMemory& m = ours(snapshot)->resident;
  memprof_resident out{};
  out.state = static_cast<uint32_t>(m.state);
  out.rss_bytes = m.total_bytes;
  out.swap_bytes = m.swap_bytes;
  out.heap_bytes = m.heap_bytes;
  out.files_bytes = m.files_bytes;
  out.shared_bytes = m.shared_bytes;
  out.stacks_bytes = m.stacks_bytes;
  out.code_bytes = m.code_bytes;
  out.runtime_bytes = m.runtime_bytes;
  out.memprof_bytes = m.memprof_bytes;
  out.anonymous_bytes = m.anonymous_bytes;
  out.live_bytes = m.live_bytes;
  out.absent_bytes = m.absent_bytes;
  out.slack_bytes = m.slack_bytes;
  out.free_bytes = m.free_bytes;
  out.unexplained_bytes = m.unexplained_bytes();
  out.fragmentation = m.fragmentation();
  out.counted_bytes = m.counted_bytes;
  out.tables_bytes = m.tables_bytes;
  out.counted_age_ns = m.counted_age_ns;
  return give(out, resident);
}

const float* memprof_snapshot_resident_shares(const memprof_snapshot* snapshot, uint64_t* count) {
  static const float kNone = 0;
  const memprof::Span<float> shares =
      snapshot != nullptr ? ours(snapshot)->resident_shares : memprof::Span<float>{};
  if (count != nullptr) {
    *count = shares.size;
  }
  return shares.data != nullptr ? shares.data : &kNone;
}

}  // extern "C"
