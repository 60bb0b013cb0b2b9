// SPDX-License-Identifier: Apache-2.0
// A word of the calling thread's, in the segment that belongs to the thread.
#pragma once

#include <cstddef>

// Can it be read by one instruction?
#define MEMPROF_CPU_HAS_THREAD_WORD 0
