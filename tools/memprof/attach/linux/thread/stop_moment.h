// SPDX-License-Identifier: Apache-2.0
// A moment in which a thread can be stopped without cutting short what it does.
//
// Model: a stop ends a system call that has moved a part of its bytes, with that part as its result: a write to a pipe, a send, a receive that
// waits for all bytes.  Nobody can take the bytes back, so no restart is possible.  The kernel says what a thread that sleeps
// is in (/proc/ID/syscall), so such moments are waited out.  Of a thread that runs it says nothing: one that has
// run for 300 us without sleeping, and was not seen in a transfer for 5 ms, is taken to be in its own code, though it may copy from memory to memory (sendfile,
// copy_file_range) in the kernel.
//
// Threads: no state.
// Failure: false where no such moment came in time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "memprof/attach/linux/processor/processor.h"

namespace memprof::cli {

// Whether a stop may end this call with a part of what was asked for.
bool is_cut_by_stops(const processor::WaitingCall& call);

// Whether a thread sleeps in one.
bool is_in_transfer(pid_t thread);

// pause(ns) lets that time pass: whoever traces the thread has to pass on meanwhile what it stops for.
using Pause = std::function<void(int64_t ns)>;
bool wait_for_moment(pid_t thread, int64_t patience_ns, const Pause& pause);
// A moment in which none of a process's threads sleeps in such a call.
bool wait_for_moment_of_all(uint64_t process, int64_t patience_ns);

}  // namespace memprof::cli
