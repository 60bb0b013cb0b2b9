// SPDX-License-Identifier: Apache-2.0
// What a process has in memory, as text: for the header of a report, and in one line.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "format/resident.h"

namespace memprof::profile {

// "V8's heap"; of no runtime: "".
std::string runtime_heap_name(const ResidentMemory& memory);

// None where nothing is known.  `is_before_end`: it is of when the end of the process began.
std::vector<std::string> resident_lines(const ResidentMemory& memory, bool is_before_end);

// "118.2 MiB (heap in use 60.1 MiB, ...)"; "": nothing is known.
std::string resident_line(const ResidentMemory& memory);

}  // namespace memprof::profile
