// SPDX-License-Identifier: Apache-2.0
// The walk that capture_stack makes, without the frames of language runtimes.
//
// Threads, signals: any; lock-free.
// Allocates: never.
#pragma once

#include <cstdint>

#include "platform/stack.h"

namespace memprof::platform {

WalkResult walk_native(const Entry& entry, uint64_t* frames, uint32_t max_depth);

}  // namespace memprof::platform
