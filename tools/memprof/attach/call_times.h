// SPDX-License-Identifier: Apache-2.0
// How long a thread that makes calls and the command wait for each other. Tests give shorter times.
//
// Threads: no state.
#pragma once

#include <cstdint>

#include "memprof/attach/linux/processor/call_program.h"

namespace memprof::cli {

struct CallTimes {
  uint64_t looks = CallHeader{}.looks;  // of the thread for the command, CallHeader::pause apart
  int64_t calls_ns = 10'000'000'000;    // until the command leaves the thread to its calls
  int64_t between_looks_ns = 20'000;    // of the command at the thread's word
};

}  // namespace memprof::cli
