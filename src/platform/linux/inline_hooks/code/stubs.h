// SPDX-License-Identifier: Apache-2.0
// Writes the machine code behind a hooked function: its stub, the fast path and the moved instructions.
//
// Model: as hook_site.h draws it.  The fast path of an allocation is the tick of the sampler (core/sampling/sampler.h) on
// the register that holds the size; that of a free is the probe of the filter.  Both leave all registers that hold arguments
// as they were; what they change (flags, rax, r11) every function may change.  The slow paths get the site as their sixth
// argument, and are reached by a jump: the return address on the stack is the caller's of the function.
//
// Threads: one at a time for each module.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/linux/inline_hooks/code/hook_site.h"

namespace memprof::platform {

inline constexpr size_t kStubBytes = 256;  // of a site, at most

struct SlowPaths {
  uint64_t first;
  uint64_t slow;    // the clock ran out, or the filter marks the block
  uint64_t always;  // neither was asked
};

// In the low bit of the site that the slow path of a reallocation gets: the clock ran out.
inline constexpr uint64_t kRanOut = 1;

// Writes the stub of `site` (address, signature, heap are set) to `at`, and sets the other addresses and what is known of
// the window; Refusal::kNone: it can be patched.  `function`: its code, of `size_bytes`.
Refusal write_stub(HookSite* site, const uint8_t* function, size_t size_bytes, uint8_t* at,
                   const SlowPaths& paths);

}  // namespace memprof::platform
