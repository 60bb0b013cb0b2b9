// SPDX-License-Identifier: Apache-2.0
// Leaves code that no table describes by the frame record that the frame pointer points at.
//
// Model: a function with a frame pointer has a record of two words on the stack: [bp] the caller's frame
// pointer, [bp + 8] the return address.  Nothing says that the code keeps one, so what is found must look
// like a record: the return address follows a call.  Where it does not, it is believed if
//   - code made at run time has pushed it (the JVM's interpreter returns to places that no call leads to): it
//     lies close to the code that is left, in no module, and the caller's record is further up the stack;
//   - it ends the chain (a goroutine's first function returns to one that nobody called): the caller's frame
//     pointer is 0, and both are code of modules;
//   - the record only points to the one right above it, which does (Go's crosscall2 has two).
// Code that keeps no frame pointer leaves that of its caller, or of that one's caller, where it was: frames would be left out,
// and the stack would seem whole.  So a call that leads to another module than the one that is left is not believed.
// A frame pointer can lead to another stack: Go's runtime runs C on the thread's stack, and Go on a
// goroutine's.  Such a record is read through the kernel, and believed if it leads to a second one.
//
// Threads, signals, fork: pure; reads the stack, and other memory through Surroundings::read_memory.
// Allocates: never.
#pragma once

#include <cstdint>

#include "unwind/tables/stack_memory.h"

namespace memprof::unwind {

struct Surroundings;

// Where the walk is in code without a table.
struct Unruled {
  uint64_t pc;
  uint64_t sp;  // or what it is at least
  uint64_t bp;
  bool is_in_module;  // in one that has tables, but not for this address
};

struct FrameRecord {
  uint64_t bp;
  uint64_t pc;
  uint64_t limit;  // where it ends: what the caller's stack pointer is at least
  bool is_elsewhere;
};

// Stacks that a walk may go to by frame pointers.
inline constexpr int kMaxStackJumps = 16;

// false: there is none.  A record on another stack makes that one *stack, and counts in *jumps.
bool find_frame_record(const Unruled& at, const Surroundings& surroundings, StackMemory* stack, int* jumps,
                       FrameRecord* record);

}  // namespace memprof::unwind
