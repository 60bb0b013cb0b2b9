// SPDX-License-Identifier: Apache-2.0
// Times as Windows has them: ticks of 100 ns since 1601.
//
// Threads: pure.
#pragma once

#include <cstdint>

#include "platform/windows/system.h"

namespace memprof::platform {

inline uint64_t ticks_of(const FILETIME& time) {
  return (uint64_t{time.dwHighDateTime} << 32) | time.dwLowDateTime;
}

}  // namespace memprof::platform
