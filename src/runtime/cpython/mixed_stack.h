// SPDX-License-Identifier: Apache-2.0
// Python frames among native ones (runtime/merge.h): an interpreter whose layout is not known to be right is
// looked at first, and read in the way that its thread permits.
//
// Threads: any.
// Signals: safe; after a signal frame, and where the thread state is not attached, every read of the
// interpreter is checked.
// Allocates: never.
#pragma once

#include <cstdint>

#include "runtime/cpython/stacks.h"
#include "runtime/native_stack.h"

namespace memprof::cpython {

// Writes the frames of both, leaf first.
platform::WalkResult merge_frames(const RunningThread& thread, const runtimes::NativeStack& native,
                                  uint64_t* frames, uint32_t max_depth);

}  // namespace memprof::cpython
