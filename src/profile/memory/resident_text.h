// SPDX-License-Identifier: Apache-2.0
// What a process has in memory, as text: for the header of a report, and in one line.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/resident.h"

namespace memprof::profile {

// Of what stands as V8's heap in its map, what V8 does not count as such: memory of WebAssembly and of resizable
// ArrayBuffers. 0: little, or V8 was not asked.
uint64_t mapped_buffer_bytes(const ResidentMemory& memory);

// "V8's heap"; of no runtime: "".
std::string runtime_heap_name(const ResidentMemory& memory);

// Which allocators count their own memory, "jemalloc and tcmalloc"; none of the process: "".
std::string counting_allocators(const ResidentMemory& memory);

// None where nothing is known.  `is_before_end`: it is of when the end of the process began.  `has_mappings`: the
// program's own mappings are known, and some are in memory.  `owner`: whose heap mappings of unknown origin may be ("Guile's
// heap"); empty: unknown.
std::vector<std::string> resident_lines(const ResidentMemory& memory, bool is_before_end,
                                        bool has_mappings = false, const std::string& owner = {});

// What is known of RSS at the peak without a look at the mappings, which nobody takes just then: "resident then: files and
// shared memory 9.1 MiB, heap 60.1 MiB, not split 49.0 MiB"; "": not even the files.  `free_bytes`: as allocators counted, 0:
// they do not say.
std::string resident_at_peak(uint64_t resident_bytes, uint64_t files_bytes, uint64_t free_bytes,
                             double heap_bytes);

// "118.2 MiB (live heap 60.1 MiB, ...)"; "": nothing is known.
std::string resident_line(const ResidentMemory& memory);

}  // namespace memprof::profile
