// SPDX-License-Identifier: Apache-2.0
// One step of a walk by rules, for the processor that this is compiled for: Position, leave_common_frames,
// leave_frame, knows_stack_pointer, read_signal_frame, is_bare_trampoline, kHasWalkMemory.
#pragma once

#include <cstdint>

namespace memprof::unwind {
inline constexpr uint64_t kWord = 8;
}

#if defined(__aarch64__)
#include "unwind/walk/step_aarch64.h"
#else
#include "unwind/walk/step_x86_64.h"
#endif
