// SPDX-License-Identifier: Apache-2.0
// This process in the tally of its run (format/files/run_tally.h).
//
// Threads: the calls come one after the other.
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof {

// Maps the tally in the run's folder for arenas, where there is one of this run and this user, and counts this process.
void join_run(const char* arena_folder, uint64_t run_token);

// In a fork child: counts it, if its parent had joined.
void count_fork_child();

}  // namespace memprof
