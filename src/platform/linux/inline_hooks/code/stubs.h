// SPDX-License-Identifier: Apache-2.0
// Writes the machine code behind a hooked function: its stub, the fast path and the moved instructions.
//
// Model: as hook_site.h draws it.  The fast path of an allocation is the tick of the sampler (core/sampling/sampler.h) on
// the register that holds the size; that of a free is the probe of the filter.  Neither changes a register but the flags, which
// hold nothing at the entry of a function: no compiler has them live across a call (docs/decisions/0098-*.md).  Where they
// compute, it is in rax, which waits in the red zone.  The slow paths are reached through the gate (register_gate.h), by a
// jump: the return address on the stack is the caller's of the function.
//
// Threads: one at a time for each module.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/linux/inline_hooks/code/hook_site.h"

namespace memprof::platform {

inline constexpr size_t kStubBytes = 256;  // of a site, at most

// What the gate is given is the site's address, and in the bits that are 0 there:
enum class CallPath : uint64_t {
  kSlow = 0,    // the clock ran out, or the filter marks the block
  kAlways = 2,  // neither was asked
  kFirst = 4,
};
inline constexpr uint64_t kPathBits = 6;
inline constexpr uint64_t kRanOut = 1;  // of kSlow: it was the clock
static_assert(alignof(HookSite) == 8);

// Writes the stub of `site` (address, signature, heap are set) to `at`, and sets the other addresses and what is known of
// the window; Refusal::kNone: it can be patched.  `function`: its code, of `size_bytes`.  `gate`: gate_of_functions().
Refusal write_stub(HookSite* site, const uint8_t* function, size_t size_bytes, uint8_t* at, uint64_t gate);

}  // namespace memprof::platform
