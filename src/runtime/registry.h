// SPDX-License-Identifier: Apache-2.0
// The runtimes that this build knows.
#pragma once

#include <cstdint>

#include "runtime/runtime.h"

namespace memprof::runtimes {

// In the order in which they are asked.
extern const Runtime* const kRegistry[];
extern const uint32_t kRegistrySize;

}  // namespace memprof::runtimes
