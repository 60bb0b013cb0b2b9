// SPDX-License-Identifier: Apache-2.0
// What the reader of a snapshot asks of the runtimes whose code is in it (src/runtime defines these functions).
// The runtime is that of the process which was profiled: only what this process knows of its kind is asked for.
//
// Threads: any.  Allocates: never.
#pragma once

#include <cstdint>

namespace memprof::runtimes {

// How people call the runtime of this id (core/tables/code_table.h); "": this build does not know it.
const char* name_of(uint32_t id);

// The name of a function whose code found no room in the table.
const char* unknown_code_name(uint32_t id);

// The line of a position in code, by the table of lines that the runtime interned; 0: unknown.  Nothing of the
// table is believed.
uint32_t line_of(uint32_t id, const uint8_t* lines, uint64_t lines_bytes, uint32_t first_line,
                 uint32_t position_bytes);

}  // namespace memprof::runtimes
