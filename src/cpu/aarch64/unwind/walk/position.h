// SPDX-License-Identifier: Apache-2.0
// Where a walk by tables is, as far as a processor needs to know it.
#pragma once

#include <cstdint>

namespace memprof::unwind {

inline constexpr uint64_t kWord = 8;

// In a caller, right after its call returned.
struct Position {
  uint64_t pc;
  uint64_t sp;        // or what it is at least
  uint64_t bp;        // x29
  uint64_t link = 0;  // x30, where it is known: in a function that a signal interrupted
  bool has_link = false;
  bool has_sp = true;
};

}  // namespace memprof::unwind
