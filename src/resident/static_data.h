// SPDX-License-Identifier: Apache-2.0
// Whether anonymous memory right behind a file's writable mapping is that file's static data (.bss): images of runtimes
// have their heap there, and the kernel makes one mapping of a library's .bss and what was mapped behind it.
//
// Allocates: never.
#pragma once

#include <cstdint>

#include "resident/memory_source.h"

namespace memprof::resident {

// Is more of [start, limit) inside of the ELF file whose beginning is mapped at `file_start` than behind it? False: the file is
// no ELF file. Where its headers cannot be read it counts as one.
bool is_static_data(const MemorySource& source, uint64_t file_start, uint64_t start, uint64_t limit);

}  // namespace memprof::resident
