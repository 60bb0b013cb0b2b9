// SPDX-License-Identifier: Apache-2.0
// Frames of the standard library's operators new at the leaf of a stack: where those call malloc themselves, they are
// left out like the hooks', so that a stack begins with who called the operator, as where ours take their place
// (interpose/behind_operators.h).
//
// Threads, signals: any; lock-free.
// Allocates: never.
#pragma once

#include <cstdint>

#include "platform/linux/stack/hook_section.h"

namespace memprof::platform {

// Is the address in a hook, or behind a call in such an operator of a standard library?
bool is_left_out(uint64_t return_address);

}  // namespace memprof::platform
