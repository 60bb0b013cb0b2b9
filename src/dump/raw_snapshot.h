// SPDX-License-Identifier: Apache-2.0
// The arrays of a snapshot as those of a profile that is written from inside the process.
//
// Threads: no state.  Allocates: never; the arrays are the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/reader/snapshot.h"
#include "dump/raw_pprof.h"

namespace memprof {

inline profile::RawTotals to_raw(const SnapshotTotals& t) {
  return {t.samples,        t.size_bytes,     t.weight_bytes,     t.weight_count,
          t.variance_bytes, t.variance_count, t.max_missed_bytes, t.max_missed_count};
}

// The index that module `m` of the snapshot has in the profile, where the main program comes first and the others
// keep their order; also for "no module".
inline uint32_t raw_index(uint32_t m, uint32_t main_program) {
  return m == main_program ? 0 : m < main_program ? m + 1 : m;
}

inline uint32_t find_main_program(const Snapshot& s) {
  for (uint32_t i = 0; i < s.modules.size; ++i) {
    if (strcmp(s.strings.data + s.modules.data[i].path_offset, s.program()) == 0) {
      return i;
    }
  }
  return 0;  // no stack runs through it: the order stays
}

inline void convert_modules(const Snapshot& s, uint32_t main_program, profile::RawModule* modules) {
  for (uint32_t i = 0; i < s.modules.size; ++i) {
    const SnapshotModule& m = s.modules.data[i];
    modules[raw_index(i, main_program)] = {
        m.start, m.limit, m.file_offset, s.strings.data + m.path_offset, m.build_id, m.build_id_size};
  }
}

inline size_t convert_live(const Snapshot& s, profile::RawLive* live) {
  size_t groups = 0;
  for (uint64_t i = 0; i < s.records.size; ++i) {
    const SnapshotRecord& r = s.records.data[i];
    profile::RawLive* last = groups > 0 ? &live[groups - 1] : nullptr;
    if (last == nullptr || last->stack != r.stack_id || last->size_bytes != r.size_bytes ||
        last->rate_bytes != r.rate_bytes) {
      last = &live[groups++];
      *last = {r.stack_id, r.size_bytes, r.rate_bytes, 0, 0, 0};
    }
    ++last->samples;
    last->weight_bytes += r.weight_bytes;
    last->weight_count += r.weight_count;
  }
  return groups;
}

}  // namespace memprof
