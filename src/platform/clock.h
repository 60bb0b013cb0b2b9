// SPDX-License-Identifier: Apache-2.0
// Times and random numbers.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstdint>

namespace memprof::platform {

uint64_t random_seed();   // 64 bits; the first from the kernel, of lower quality where it gives none
uint64_t monotonic_ns();  // a clock that does not jump
// Processor time of all threads of the process; sandboxed: 0.
uint64_t process_cpu_ns();
uint64_t thread_cpu_ns();       // of the calling thread alone
void stop_clock(bool stopped);  // that clock stands still: the processor's may not be read any more
uint64_t unix_ns();             // nanoseconds since 1970

}  // namespace memprof::platform
