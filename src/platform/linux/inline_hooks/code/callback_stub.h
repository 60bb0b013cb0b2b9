// SPDX-License-Identifier: Apache-2.0
// The code behind a jump in the place of an empty function, which calls a function of ours.
//
// Threads: no state.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// The bytes of an empty function, up to its end; 0: it is not empty, or the processor has no such stubs.
size_t bytes_of_empty(const uint8_t* code);

inline constexpr size_t kCallbackStubBytes = 64;  // at most

// To `to`: goes to the gate (gate_of_callbacks() of register_gate.h), which calls `function`.
void write_callback_stub(uint8_t* to, void (*function)(), uint64_t gate);

}  // namespace memprof::platform
