// SPDX-License-Identifier: Apache-2.0
// Filters of system calls (seccomp) that a process has put on itself: whether one would end the process for what
// memprof does in it, or answer otherwise than the kernel.
//
// Threads: no state.
// Failure: check_filters throws Failure with status 1.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "memprof/attach/linux/target/survey.h"
#include "memprof/attach/linux/thread/traced_thread.h"

namespace memprof::cli {

// What a filter says of a call (SECCOMP_RET_*); of a broken one: that it kills, as the kernel has it.
uint32_t filter_result(const std::vector<sock_filter>& filter, const seccomp_data& call);

// What a filter does for the first system call of memprof's (library_calls.h) that it does not let through, like "ends it
// for mmap"; empty: it lets all of them through.  `is_musl`: of a process of musl.
std::string altered_call(const std::vector<sock_filter>& filter, bool is_musl = false);

// Refuses where a filter of the stopped thread lets one not through, or cannot be read, and where another thread has
// filters of its own.  Filters that this command has as well, as in one container, are those that it lives with itself.
void check_filters(const Target& target, const TracedThread& thread);

}  // namespace memprof::cli
