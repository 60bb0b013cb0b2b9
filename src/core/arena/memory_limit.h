// SPDX-License-Identifier: Apache-2.0
// Tables that all together stay within a limit of memory: how many live samples and stacks they have room for.
//
// Model: an arena can never have more than its sections' capacities, and those follow from its limits
// (core/arena/arena.h).  So the largest limits whose capacities fit are chosen when it is made; a full table
// then costs detail and never totals (core/tables/stack_folding.cc, core/engine/thinning.h).
//
// Threads: any.  Allocates: never.
#pragma once

#include <cstdint>

#include "core/arena/arena.h"

namespace memprof {

inline constexpr uint64_t kMinMemoryLimit = uint64_t{4} << 20;
inline constexpr uint64_t kNoMemoryLimit = UINT64_MAX;
inline constexpr uint64_t kMemoryLimitOfGroup = 0;  // default_memory_limit()

// A 64th of what the process's group may have, at least kMinMemoryLimit; kNoMemoryLimit: it has no limit.
uint64_t default_memory_limit(uint64_t group_limit_bytes);

// `wanted`, or less.  `limit_bytes`: kMinMemoryLimit at least.
Limits limits_within(const Limits& wanted, uint64_t limit_bytes);

}  // namespace memprof
