// SPDX-License-Identifier: Apache-2.0
// Filters of system calls (seccomp) that a process has put on itself: whether one would end the process for what
// memprof does in it.
//
// Threads: no state.
// Failure: check_filters throws Failure with status 1.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <vector>

#include "memprof/attach/target/survey.h"
#include "memprof/attach/thread/traced_thread.h"

namespace memprof::cli {

// What a filter says of a call (SECCOMP_RET_*); of a broken one: that it kills, as the kernel has it.
uint32_t filter_result(const std::vector<sock_filter>& filter, const seccomp_data& call);

// Name of the first system call of memprof's for which a filter ends the process; nullptr: none.
const char* fatal_call(const std::vector<sock_filter>& filter);

// Refuses where a filter of the stopped thread would end it, or cannot be read.  Filters that this command has as
// well, as in one container, are those that it lives with itself.
void check_filters(const Target& target, const TracedThread& thread);

}  // namespace memprof::cli
