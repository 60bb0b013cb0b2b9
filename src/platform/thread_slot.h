// SPDX-License-Identifier: Apache-2.0
// A word of each thread that is read without a call, where the compiler's thread-local data is none
// (MEMPROF_THREAD_SLOT in object_format.h).  It is 0 in a thread that did not set it.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstddef>

#include "cpu/thread_word.h"
#include "platform/object_format.h"

namespace memprof::platform {

// What the calling thread's word points to: kThreadDataBytes of zeroed memory that are its own
// for as long as it lives.  Asked for when the word reads 0.  Never nullptr: where the system has no memory, threads share one.
inline constexpr size_t kThreadDataBytes = 192;
void* make_thread_data();

#if MEMPROF_CPU_HAS_THREAD_WORD && !defined(MEMPROF_THREAD_SLOT_BY_CALL)
// Of the word (cpu/thread_word.h).
extern size_t g_thread_word_offset;

[[gnu::always_inline]] inline void* thread_data() {
  void* data = cpu::thread_word(g_thread_word_offset);
  return __builtin_expect(data != nullptr, 1) ? data : make_thread_data();
}
#else
void* thread_data();
#endif

}  // namespace memprof::platform
