// SPDX-License-Identifier: Apache-2.0
// attach_and_start and attach_and_stop (memprof/attach/attach.h) where the process's own Python, 3.14 or later, makes the calls
// (python_script.h): no thread is stopped and no code is written, and the processor is whichever Python runs on.  Allocators
// inside modules are not hooked: that needs all threads to stand still.
//
// Threads: one at a time.
// Failure: throws Failure with status 1.
#pragma once

#include <cstdint>

#include "memprof/attach/attach.h"

namespace memprof::cli {

// pause_ns of the result: how long its main thread had to do with it.
AttachResult start_by_python(uint64_t pid, const AttachOptions& options);
AttachResult stop_by_python(uint64_t pid, const AttachOptions& options);

}  // namespace memprof::cli
