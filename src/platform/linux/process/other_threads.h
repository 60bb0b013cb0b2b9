// SPDX-License-Identifier: Apache-2.0
// Waits until the other threads have left what they were doing.
//
// Model: some code takes microseconds of a processor, makes no system call, and must have ended: the loader's
// resolver of lazy slots.  A thread has left it when it sleeps, is gone, or has used kEnoughNs of processor
// time since.  What the kernel says of threads is in /proc/self/task.
//
// Threads: any; must not be called from a hook.
// Allocates: pages of its own, given back at the end.
// Failure: without /proc, or with more than kMax threads, it waits for those that it knows.
#pragma once

#include <cstdint>

namespace memprof::platform {

// true: all others have left.  false: some thread got no processor within `limit_ns`.
bool wait_for_other_threads(uint64_t limit_ns);

}  // namespace memprof::platform
