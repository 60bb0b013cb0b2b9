// SPDX-License-Identifier: Apache-2.0
// The subtraction of the fast path (core/sampling/sampler.h).
#pragma once

#include <cstdint>

namespace memprof {

// Takes `size_bytes`, but at least 1, from the count.  true: fewer were left, and the count has wrapped.
[[gnu::always_inline]] inline bool count_down(uint64_t* count, uint64_t size_bytes) {
  return __builtin_sub_overflow(*count, size_bytes + (size_bytes == 0), count);
}

// The same, but nothing of a size of 0: then false.
[[gnu::always_inline]] inline bool count_down_some(uint64_t* count, uint64_t size_bytes) {
  return __builtin_sub_overflow(*count, size_bytes, count);
}

}  // namespace memprof
