// SPDX-License-Identifier: Apache-2.0
// CPython's entry in the registry of runtimes.
#pragma once

#include "runtime/runtime.h"

namespace memprof::cpython {

extern const runtimes::Runtime kRuntime;

}  // namespace memprof::cpython
