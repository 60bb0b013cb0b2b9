// SPDX-License-Identifier: Apache-2.0
// What the process of a snapshot has in memory: read from the system, and kept where it must outlive the process.
//
// Allocates: pages of its own.  Signals: as dumps (dump/dump.cc).
#pragma once

#include <cstdint>

#include "core/reader/snapshot.h"
#include "format/resident.h"

namespace memprof {

// Into snapshot->resident and resident_shares: of the process `process_id`, whose blocks the snapshot has; 0: this one.
// Of another process also what of its mappings is in memory, which a snapshot of this one has.
// MEMPROF_OK, MEMPROF_ERR_NO_MEMORY, MEMPROF_ERR_SYSTEM.
int read_resident_memory(Snapshot* snapshot, uint64_t process_id);

// From now on what this process has in memory when its end begins is kept in its arena.
void watch_resident_memory();

}  // namespace memprof
