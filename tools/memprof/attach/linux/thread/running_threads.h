// SPDX-License-Identifier: Apache-2.0
// Waits until the threads of another process have left what they were doing.
//
// Model: as in the library (src/platform/linux/process/other_threads.h), which waits for the other threads where nobody
// outside does: the loader's resolver takes some microseconds of a processor and makes no system call.  A thread has left
// it when it sleeps, is gone, or has used a millisecond of processor time since.
//
// Threads: no state.
#pragma once

#include <cstdint>

namespace memprof::cli {

// true: all have left.  At most a tenth of a second; false: some thread got no processor in that time.
bool wait_for_running_threads(uint64_t process);

}  // namespace memprof::cli
