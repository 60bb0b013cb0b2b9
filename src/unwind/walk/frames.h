// SPDX-License-Identifier: Apache-2.0
// What a walk through code keeps of its frames: all but those of hooks at the leaf end.
//
// Threads, signals, fork: a plain value.
// Allocates: never.
#pragma once

#include <cstdint>

#include "platform/stack.h"
#include "unwind/walk/frame_list.h"
#include "unwind/walk/table_walk.h"

namespace memprof::unwind {

class Frames {
 public:
  Frames(uint64_t* frames, uint32_t max_depth, const Surroundings& surroundings, StackPointers* pointers)
      : list_(frames, max_depth, pointers == nullptr), surroundings_(surroundings), pointers_(pointers) {
    if (pointers != nullptr) {
      pointers->has_gaps = false;
    }
  }

  // false: the limit is reached.
  bool add(uint64_t pc, uint64_t stack_pointer) {
    if (at_leaf_ && surroundings_.is_hook(pc)) {
      return true;
    }
    at_leaf_ = false;
    if (!list_.add(pc)) {
      return false;
    }
    if (pointers_ != nullptr) {
      pointers_->values[list_.size() - 1] = stack_pointer;
    }
    return true;
  }
  // A signal frame, or one on another stack.
  void note_other_stack() {
    if (pointers_ != nullptr) {
      pointers_->has_gaps = true;
    }
  }
  platform::WalkResult end(platform::Walk reason) { return list_.end(reason); }

  // With stack pointers: frames that are kept so far.
  size_t size() const { return list_.size(); }

  // For a loop of its own: where the next ones go, if none can be a hook's any more.
  uint64_t* next() const { return list_.next(); }
  uint64_t* limit() const { return at_leaf_ ? next() : list_.limit(); }
  void advance_to(uint64_t* next) { list_.advance_to(next); }
  // Where the stack pointer of the next one goes; only if they are wanted.
  uint64_t* next_pointer() const { return pointers_->values + list_.size(); }

 private:
  FrameList list_;
  const Surroundings& surroundings_;
  StackPointers* const pointers_;
  bool at_leaf_ = true;
};

// Code lies between this and kAddressEnd.  The cache of rules tells addresses apart by their 48 low bits.
inline constexpr uint64_t kMinAddress = 4096;
inline bool is_code_address(uint64_t address) {
  return address - kMinAddress < kAddressEnd - kMinAddress;
}

inline constexpr int kMaxStackChanges = 4;  // signal stacks in one walk

// Nothing of the stack is left above this frame: it is the first, whatever the tables do not say of it (the
// loader's entry, which runs the constructors of libraries, has none).
inline bool is_used_up(const StackMemory& stack, uint64_t sp) {
  return stack.is_whole() && sp >= stack.high();
}

}  // namespace memprof::unwind
