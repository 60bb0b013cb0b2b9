// SPDX-License-Identifier: Apache-2.0
// Of thread_data.cc: is there a slot, and what lies behind what it points to.
#pragma once

#include <cstddef>

namespace memprof::platform {

// For thread-local variables of the compiler (library/runtime.cc), behind kThreadDataBytes.
inline constexpr size_t kThreadVariableBytes = 256;

// Takes a slot, the first time.  false: all that lie in the thread's block are taken, so nothing can be recorded.
bool has_own_thread_data();

}  // namespace memprof::platform
