// SPDX-License-Identifier: Apache-2.0
// The subtraction of the fast path (core/sampling/sampler.h).
#pragma once

#include <cstdint>

namespace memprof {

// Takes `size_bytes`, but at least 1, from the count.  true: fewer were left, and the count has wrapped.
[[gnu::always_inline]] inline bool count_down(uint64_t* count, uint64_t size_bytes) {
  // compare sets the carry for size 0 only, so that size 0 counts as 1; the subtraction leaves a borrow when
  // fewer bytes were left.  One instruction on memory: a signal handler cannot come in between.
  bool ran_out;
  asm("cmpq $1, %[size]\n\tsbbq %[size], %[count]"
      : "=@ccc"(ran_out), [count] "+m"(*count)
      : [size] "r"(size_bytes));
  return ran_out;
}

// The same, but nothing of a size of 0: then false.
[[gnu::always_inline]] inline bool count_down_some(uint64_t* count, uint64_t size_bytes) {
  bool ran_out;
  asm("subq %[size], %[count]" : "=@ccc"(ran_out), [count] "+m"(*count) : [size] "r"(size_bytes));
  return ran_out;
}

}  // namespace memprof
