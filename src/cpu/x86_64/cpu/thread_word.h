// SPDX-License-Identifier: Apache-2.0
// A word of the calling thread's, in the segment that belongs to the thread.
#pragma once

#include <cstddef>

// Can it be read by one instruction?
#define MEMPROF_CPU_HAS_THREAD_WORD 1

namespace memprof::cpu {

// `offset`: from the base of the segment (gs).
[[gnu::always_inline]] inline void* thread_word(size_t offset) {
  void* word;
  asm("movq %%gs:(%1), %0" : "=r"(word) : "r"(offset));
  return word;
}

}  // namespace memprof::cpu
