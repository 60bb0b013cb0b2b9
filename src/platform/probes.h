// SPDX-License-Identifier: Apache-2.0
// Places that tracers can be called from: user-space statically defined tracing (USDT).  No service: ELF alone has it.
//
// A place is one `nop`, and for each probe there a note in .note.stapsdt: where the nop is, and in which registers the
// arguments are.  gdb, perf, bpftrace and SystemTap read the notes from the file and write a breakpoint over the nop;
// until then the nop is all that a probe costs.  The layout of a note is that of SystemTap's sys/sdt.h, version 3; there
// is no semaphore.
//
// Threads: any.  Signals: safe.  Allocates: never.
#pragma once

#include <cstdint>

namespace memprof::platform {

#if defined(__ELF__)

// One note of the place 990; `arguments` as `8@%[name]`, with the names of operands of the asm statement.
#define MEMPROF_PROBE_NOTE(provider, name, arguments) \
  ".pushsection .note.stapsdt,\"?\",\"note\"\n"       \
  ".balign 4\n"                                       \
  ".4byte 992f-991f, 994f-993f, 3\n"                  \
  "991: .asciz \"stapsdt\"\n"                         \
  "992: .balign 4\n"                                  \
  "993: .8byte 990b, _.stapsdt.base, 0\n"             \
  ".asciz \"" provider                                \
  "\"\n"                                              \
  ".asciz \"" name                                    \
  "\"\n"                                              \
  ".asciz \"" arguments                               \
  "\"\n"                                              \
  "994: .balign 4\n"                                  \
  ".popsection\n"

// What notes are relative to: tools see by it how far a linker or prelink has moved the file.
#define MEMPROF_PROBE_BASE                                                \
  ".ifndef _.stapsdt.base\n"                                              \
  ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n"                                                \
  ".hidden _.stapsdt.base\n"                                              \
  "_.stapsdt.base: .space 1\n"                                            \
  ".size _.stapsdt.base, 1\n"                                             \
  ".popsection\n"                                                         \
  ".endif\n"

// memprof:sample and otel_memory:alloc.  Of a block that a sample was taken of, which live readers find from now on.
inline void probe_sample(uint64_t address, uint64_t size_bytes, uint64_t weight_bytes, uint64_t rate_bytes,
                         uint64_t thread_id) {
  __asm__ volatile("990: nop\n" MEMPROF_PROBE_NOTE("memprof", "sample",
                                                   "8@%[address] 8@%[size] 8@%[weight] 8@%[rate] 8@%[thread]")
                       MEMPROF_PROBE_NOTE("otel_memory", "alloc", "8@%[address] 8@%[size] 8@%[weight]")
                           MEMPROF_PROBE_BASE
                   :
                   : [address] "r"(address), [size] "r"(size_bytes), [weight] "r"(weight_bytes),
                     [rate] "r"(rate_bytes), [thread] "r"(thread_id));
}

// memprof:free and otel_memory:free.  Its block was freed.
inline void probe_free(uint64_t address, uint64_t size_bytes, uint64_t weight_bytes, uint64_t lifetime_ns) {
  __asm__ volatile(
      "990: nop\n" MEMPROF_PROBE_NOTE("memprof", "free", "8@%[address] 8@%[size] 8@%[weight] 8@%[lifetime]")
          MEMPROF_PROBE_NOTE("otel_memory", "free", "8@%[address]") MEMPROF_PROBE_BASE
      :
      : [address] "r"(address), [size] "r"(size_bytes), [weight] "r"(weight_bytes),
        [lifetime] "r"(lifetime_ns));
}

// memprof:thin.  Its block lives, and other samples stand for it from now on: no free will be told of it.
inline void probe_thin(uint64_t address, uint64_t size_bytes, uint64_t weight_bytes) {
  __asm__ volatile("990: nop\n" MEMPROF_PROBE_NOTE("memprof", "thin", "8@%[address] 8@%[size] 8@%[weight]")
                       MEMPROF_PROBE_BASE
                   :
                   : [address] "r"(address), [size] "r"(size_bytes), [weight] "r"(weight_bytes));
}

#undef MEMPROF_PROBE_NOTE
#undef MEMPROF_PROBE_BASE

#else

inline void probe_sample(uint64_t /*address*/, uint64_t /*size_bytes*/, uint64_t /*weight_bytes*/,
                         uint64_t /*rate_bytes*/, uint64_t /*thread_id*/) {}
inline void probe_free(uint64_t /*address*/, uint64_t /*size_bytes*/, uint64_t /*weight_bytes*/,
                       uint64_t /*lifetime_ns*/) {}
inline void probe_thin(uint64_t /*address*/, uint64_t /*size_bytes*/, uint64_t /*weight_bytes*/) {}

#endif

}  // namespace memprof::platform
