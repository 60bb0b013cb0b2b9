// SPDX-License-Identifier: Apache-2.0
// Process ids, and the namespaces in which they are ones: a process in a container has another id there.
//
// Threads: no state that changes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memprof/host/process/process_number.h"

namespace memprof::cli {

// Of this process.
uint64_t own_process_id();

// Whether it is the id of a process that is there; false: also that of a thread.
bool is_process_id(uint64_t id);

// All that can be seen, those in containers included, sorted.
std::vector<uint64_t> all_processes();

// The namespace of process ids that this process is in; 0: unknown.
uint64_t own_namespace();

// That of another one.  0: unknown, or it is not ours to know.
uint64_t namespace_of(uint64_t pid);

// The id that a process has in its own namespace; `pid` where the kernel does not say.
uint64_t pid_inside(uint64_t pid);

}  // namespace memprof::cli
