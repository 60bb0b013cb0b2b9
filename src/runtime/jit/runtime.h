// SPDX-License-Identifier: Apache-2.0
// Code that a JIT makes and lists for debuggers (LLVM's and others): its functions' names in native stacks.
// It is no language: it has no threads and no frames of its own.
#pragma once

#include "runtime/runtime.h"

namespace memprof::jit {

inline constexpr uint32_t kRuntimeId = 3;  // MEMPROF_RUNTIME_JIT

extern const runtimes::Runtime kRuntime;

}  // namespace memprof::jit
