// SPDX-License-Identifier: Apache-2.0
// How much of each mapping is resident, and who holds the rest of the process's anonymous memory.
//
// Model: the system's list of areas and the table's ranges are both in the order of addresses, and are walked
// together.  An area that one range covers is that range's; of one that several share, and of what lies between
// ranges, the system is asked page by page.
//
// Threads: the caller has the table.
// Allocates: never.
// Failure: what was measured last stays.
#pragma once

#include "core/mappings/mapping_table.h"

namespace memprof {

void measure_mappings(const MappingTable& table, MappingMeasure* measure);

// Where the system lists no areas: asks for the pages of each range.  Who holds the rest of the process stays unknown, which
// 0 as its resident memory says.  Of so much memory that a program would wait, nothing is measured.
void measure_mapped_pages(const MappingTable& table, MappingMeasure* measure);

}  // namespace memprof
