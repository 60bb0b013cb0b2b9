// SPDX-License-Identifier: Apache-2.0
// V8, the engine of Node.js: JavaScript functions, files and lines in stacks.
#pragma once

#include "runtime/runtime.h"

namespace memprof::v8 {

// MEMPROF_STACKS_READ and MEMPROF_STACKS_UNCHECKED.
inline constexpr uint32_t kStacksUnchecked = 1;
inline constexpr uint32_t kStacksRead = 2;

extern const runtimes::Runtime kRuntime;

}  // namespace memprof::v8
