// SPDX-License-Identifier: Apache-2.0
// The toy language as a runtime of the profiler: what src/runtime/README.md asks for, and no more.
#pragma once

#include "runtime/runtime.h"

namespace toy {

inline constexpr uint32_t kRuntimeId = 4;
extern const memprof::runtimes::Runtime kRuntime;

}  // namespace toy
