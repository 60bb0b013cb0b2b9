// SPDX-License-Identifier: Apache-2.0
// Checks of the system and of the shell that memprof is started from.
//
// Threads: no state.
#pragma once

#include "memprof/doctor/doctor_checks.h"

namespace memprof::cli {

// The library, the C library, the kernel and what a sandbox around us leaves of it.
void check_system(Checks* checks);

// What a program that we start would inherit: folders, limits, LD_PRELOAD, DEBUGINFOD_URLS.
void check_surroundings(Checks* checks);

// The library alone; for a process that runs it is the one that it has.
void check_library(Checks* checks);

}  // namespace memprof::cli
