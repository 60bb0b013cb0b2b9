// SPDX-License-Identifier: Apache-2.0
// A system call that passes no function of the C library, and so no hook.
//
// Threads, signals: as the call.  Failure: -1 and errno.
#pragma once

#include <errno.h>

#include "cpu/system_call.h"

namespace memprof::platform {

inline long system_call(long number, long a0, long a1, long a2, long a3, long a4, long a5) {
  const long result = cpu::system_call(number, a0, a1, a2, a3, a4, a5);
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

}  // namespace memprof::platform
