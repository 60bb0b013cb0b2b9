// SPDX-License-Identifier: Apache-2.0
// Checks of a process that runs: whether memprof is in it, and what would stop it there.
//
// Threads: no state.
#pragma once

#include <cstdint>

#include "memprof/doctor/doctor_checks.h"

namespace memprof::cli {

void check_process(uint64_t pid, Checks* checks);

}  // namespace memprof::cli
