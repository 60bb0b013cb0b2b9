// SPDX-License-Identifier: Apache-2.0
// Lines of CPython's code objects: reads co_linetable of 3.11 and later.
// Source: Objects/locations.md (InternalDocs/code_objects.md) of CPython.
//
// Threads: no state.
// Allocates: never.
// Failure: 0 where the table does not tell, or is damaged; nothing of it is believed.
#pragma once

#include <cstdint>

namespace memprof::cpython {

// The line of the instruction at `position_bytes`; 0: it has none.
uint32_t line_at(const uint8_t* table, uint64_t table_bytes, uint32_t first_line, uint32_t position_bytes);

}  // namespace memprof::cpython
