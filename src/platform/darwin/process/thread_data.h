// SPDX-License-Identifier: Apache-2.0
// Of thread_data.cc: what lies behind what a thread's word points to.
#pragma once

#include <cstddef>

namespace memprof::platform {

// For thread-local variables of the compiler, behind kThreadDataBytes.
inline constexpr size_t kThreadVariableBytes = 256;

// Makes the pthread key, the first time.  false: the process has none left, so nothing can be recorded.
bool has_own_thread_data();

// In a fork child: the states of threads that stayed with the parent are nobody's.
void forget_other_threads();

}  // namespace memprof::platform
