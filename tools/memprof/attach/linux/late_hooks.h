// SPDX-License-Identifier: Apache-2.0
// Hooks of allocators inside modules of a process whose threads run: the library there has prepared them
// (format/allocators/late_patches.h); this writes the jumps while all threads are stopped and none of them is in code that is
// overwritten.
//
// Model: a thread is in such code if its program counter is behind the first byte of it, or if its stack has such an
// address: a signal handler that has interrupted it there returns to it.  Then all go on, and it is tried again.  What
// is not as the library found it (a module was unloaded meanwhile) stays as it is.
//
// Threads: no state.
// Failure: LateHooks::refused says why; the process goes on as it was.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/allocators/late_patches.h"
#include "memprof/attach/linux/target/survey.h"

namespace memprof::cli {

// An address in each module that has allocators inside whose names are known.
std::vector<uint64_t> modules_with_allocators(const Target& target);

struct LateHooks {
  uint32_t functions = 0;  // that lead to hooks now and did not before
  int attempts = 0;        // how often all threads were stopped
  int64_t pause_ns = 0;    // the longest time that they were
  std::string refused;     // "": nothing was
};

// The patches lie in the process, as `request` was answered.
LateHooks write_late_hooks(const Target& target, const LatePatchRequest& request);

}  // namespace memprof::cli
