// SPDX-License-Identifier: Apache-2.0
// What the code around an address says of it.  Code that has no unwind table is left by its frame pointer,
// and keeps anything there if it has none: a return address is believed only behind a call instruction, or where the
// next two say so.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::unwind {

// On x86-64: the bytes of the endbr64 that `code` begins with; 0: with none.  `code[0..3]` must be readable.
size_t entry_mark_bytes(const uint8_t* code);

// Does a call instruction end right before `end`?  `end[-8..-1]` must be readable.
bool follows_call(const uint8_t* end);

// What the call that ends right before `address`, at `end`, leads to.  false: it goes by a register or a pointer, or is none.
// `end[-5..-1]` must be readable.
bool find_call_target(uint64_t address, const uint8_t* end, uint64_t* target);

// Is `code` that of a procedure linkage table, or another jump: a call of it is one of somewhere else?  `code[0..8]` must
// be readable.
bool is_jump(const uint8_t* code);

// Does code begin at `address`, whose bytes are at `code`: aligned, behind a gap that is filled with traps?  Engines
// with a deoptimiser make frames that return to the begin of code that was built that way, which no call precedes.
// `code[-8..-1]` must be readable.
bool begins_behind_traps(uint64_t address, const uint8_t* code);

// Is `code` the trampoline that a signal handler returns to?  `code[0..8]` must be readable.
bool is_signal_return(const uint8_t* code);

}  // namespace memprof::unwind
