// SPDX-License-Identifier: Apache-2.0
// Where a walk by tables is, as far as a processor needs to know it.
#pragma once

#include <cstdint>

namespace memprof::unwind {

inline constexpr uint64_t kWord = 8;

// In a caller, right after its call returned.
struct Position {
  uint64_t pc, sp, bp;
};

}  // namespace memprof::unwind
