// SPDX-License-Identifier: Apache-2.0
// What the stacks of a profile get of the snapshot's live blocks and mappings, of which records are ordered by stack.
//
// Threads: one's own arguments.  Allocates: never.
#pragma once

#include "core/reader/snapshot.h"
#include "dump/raw_pprof.h"
#include "format/load/load_clock.h"

namespace memprof {

// When what lives was allocated.  `births` has room for all that there can be: at most kBirthParts a stack, and one a
// record.
void convert_births(const Snapshot& s, Birth* births, profile::RawStack* stacks);

// The same by sixteenths of the load, if these are known and say something else than those of the time; returns when they
// began.  `births` has as much room.
LoadTimes convert_load_births(const Snapshot& s, Birth* births, profile::RawStack* stacks);

void convert_mappings(const Snapshot& s, profile::RawStack* stacks);

// What of live blocks is in memory.  A block that was not looked at is taken to be as those of its stack, else as all.
// false: none was looked at.
bool convert_resident(const Snapshot& s, profile::RawStack* stacks);

}  // namespace memprof
