// SPDX-License-Identifier: Apache-2.0
// A file without a name, in memory.
//
// Threads: no state.
#pragma once

namespace memprof::cli {

// A descriptor for reading and writing, with close-on-exec. -1: see errno.
int make_memory_file();

}  // namespace memprof::cli
