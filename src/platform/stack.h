// SPDX-License-Identifier: Apache-2.0
// The stack of the calling thread.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/walk.h"

namespace memprof::platform {

using memprof::kWalkReasons;
using memprof::Walk;

// Is the function gone (it returned, or was jumped out of) whose stack frame `frame` lies in?  `here`: an
// address in the stack frame of a function that runs; what the other one calls lies below `frame`.  false
// also where that cannot be told, because the two may be on different stacks.
bool is_frame_gone(uint64_t frame, uint64_t here);

// The addresses of a stack: [low, high).  On one stack, what runs lies below what it was called by.
struct StackRange {
  uint64_t low;
  uint64_t high;

  bool contains(uint64_t address) const { return low <= address && address < high; }
  // is_frame_gone, of this stack.
  bool is_gone(uint64_t frame, uint64_t here) const {
    return contains(frame) && contains(here) && frame < here;
  }
};

// In place of the frames between the leaf's end and the root's, for kMiddleLeftOut.  No code lies there.
inline constexpr uint64_t kFramesLeftOut = 1;
// In place of the frames that older stacks lost when the table was full.  Nor is this code.
inline constexpr uint64_t kOlderStacks = 2;
// In place of a frame in an unloaded module that gave its entry to another one when the table was full.
inline constexpr uint64_t kOlderModules = 3;
inline constexpr uint64_t kLastGap = kOlderModules;

// Where an allocation entered us: the frame of the hook, whose return address is in the program.
struct Entry {
  const void* frame_address;
};

struct WalkResult {
  uint32_t depth;
  Walk reason;
};

// Has the thread as much stack left as capture_stack and what follows it take, and `more_bytes`?  Asked of
// signal stacks; other stacks are large enough, or their size is not known.
bool has_stack_for_walk(const Entry& entry, size_t more_bytes);

// Does the thread run on its signal stack?  There a handler may have interrupted any function, an allocator too.
// false also where that is not known.
bool is_on_signal_stack();

// Writes return addresses, leaf first, at most `max_depth` of them.  Frames of the hooks are left out.  Of a
// deeper stack, both ends are kept if that is cheap, with kFramesLeftOut between them; else the leaf's end.
// Every read is inside the stack that the thread is running on.
WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth);

// Code that somebody knows: does `address` lie in it?
struct KnownCode {
  bool (*contains)(const void* owner, uint64_t address);
  const void* owner;
};

// Was the hook called, directly or not, by `code`?  Looks at 64 frames, of a deeper stack at both ends.  true
// also where these cannot be told; what lies behind code that is in no module (a program compiles it while it runs) is
// not looked at.
bool may_be_called_by(const Entry& entry, const KnownCode& code);
// The same, but false where the frames cannot be told.
bool is_called_by(const Entry& entry, const KnownCode& code);

// A module was unloaded and another one is where it was: drops what capture_stack remembers of code.
void forget_code();

}  // namespace memprof::platform
