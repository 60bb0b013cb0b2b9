// SPDX-License-Identifier: Apache-2.0
// The way from a hooked function into our code and back, which leaves all registers as the function itself would.
//
// A compiler that sees a function and its callers together (one unit, -flto) may keep values across a call in any register that
// the function does not change, of those too that the ABI lets every function change, and may leave the stack aligned to 8
// bytes (gcc: -fipa-ra, on from -O1).  Our code may change all of them, and needs the stack aligned to 16.
//
//     stub ── gate ── light_before() ──┬─────────────────────────────────┬─ jump to the function (nothing follows)
//                                      └─ save ── before() ── restore ───┴─ call it ── light_after() ──┬─ return
//                                                                                 save ── after() ── restore ──┘
//
// So the function finds the registers of its caller, arguments of any kind among them, and the caller finds those that the
// function left.  The registers of vectors and of the x87 are saved where a handler uses them, by XSAVEC, XSAVE or FXSAVE, in a
// room outside of the stack, which may be a small one; on the stack only where all rooms are taken.  While the function runs,
// nothing is saved but a frame of kGateFrameBytes.  Exceptions pass: the gate has an unwind table.
//
// Threads: any number; a room is taken by an atomic exchange (acquire) and given back (release).
// Signals: a handler takes another room; one that jumps out of our code leaves its room taken.
// fork: rooms that other threads had stay taken in a child, which then uses the stack.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/allocators/allocator_functions.h"

namespace memprof::platform {

inline constexpr size_t kGateFrameBytes = 288;  // below the caller's rbp

// The registers that a call may change by the ABI, but rax and those of vectors.
struct CallRegisters {
  uint64_t arguments[kMaxAllocatorArguments];  // rdi, rsi, rdx, rcx, r8
  uint64_t r9;
  uint64_t r10;
  uint64_t r11;
  uint64_t flags;
};

// A call of a hooked function, on the stack; the gate knows this layout.
struct GatedCall {
  static constexpr size_t kKeptBytes = 112;
  // Of before() for after().  No more aligned than a caller may leave the stack.
  alignas(8) unsigned char kept[kKeptBytes];
  CallRegisters at_entry;
  CallRegisters at_return;
  uint64_t original;  // where the function goes on, set by before(); then what it returned in rax
  uint64_t room;      // of the registers of vectors
  uint64_t site;      // what the stub gave
  uint64_t entry_rax;
  uint64_t frame[2];  // the caller's rbp, the return address: its stack pointer is behind them
};

// What a light handler, which has no registers of vectors, says is next.
enum class GateNext : uint32_t {
  kJump,  // the function, and that is all
  kCall,  // the function, and light_after()
  kFull   // before(), which may use all registers
};

// GatedCall::original is set by the one that says where to go.  before() returns whether the function is called, and light_after()
// when it has returned; else it is jumped to.  light_after() returns whether after() is called.
struct GateHandlers {
  GateNext (*light_before)(GatedCall*);
  bool (*light_after)(GatedCall*);
  bool (*before)(GatedCall*);
  void (*after)(GatedCall*);
};

// Finds out how this processor saves its registers.  false: it has some that there is no room for.
bool prepare_gate(const GateHandlers& handlers);

// Where a stub jumps to, with rax in the 8 bytes from 16 below the stack pointer on (the ABI's red zone, which signal handlers
// leave alone) and in rax:
inline constexpr int8_t kSavedRax = -16;
// what becomes GatedCall::site
uint64_t gate_of_functions();
// the address of a function without arguments, which is called in the place of an empty one
uint64_t gate_of_callbacks();

}  // namespace memprof::platform
