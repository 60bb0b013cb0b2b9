// SPDX-License-Identifier: Apache-2.0
// The stack of a stopped thread of another process, walked by the unwind tables that lie in its memory.
//
// Threads: one object is one thread's.
// Owns: copies of the tables.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "memprof/attach/linux/processor/processor.h"
#include "memprof/attach/linux/target/target_image.h"
#include "memprof/attach/linux/target/target_memory.h"

namespace memprof::cli {

class RemoteStack {
 public:
  // Places in the process that end a walk, or lead it on; 0: not known.
  struct Places {
    uint64_t sigreturn_code = 0;  // where signal handlers return to
    uint64_t entry = 0;           // where the process's first thread began
    const TargetImage* musl =
        nullptr;  // of a process of musl: what no table describes is left by its code, or not at all
  };

  // Reads the tables, so that a walk reads nothing but the stack.
  RemoteStack(uint64_t pid, const TargetMemory& memory, const std::vector<TargetImage>& images,
              const Places& places);
  ~RemoteStack();
  RemoteStack(const RemoteStack&) = delete;
  RemoteStack& operator=(const RemoteStack&) = delete;

  struct Frame {
    uint64_t address = 0;  // in the instruction that executes, or is the call
    uint64_t stack_pointer = 0;
  };
  struct Walk {
    std::vector<Frame> frames;  // leaf first
    bool is_complete = false;   // to the thread's first function
  };
  // `stack`: what lies at `stack_begin`; other memory is read from `memory`.
  Walk walk(pid_t thread, const processor::Registers& registers, const TargetMemory& memory,
            const std::vector<char>& stack, uint64_t stack_begin);

  // Of a process of musl: whether the function that an address returns to is one where stacks begin, by its code.
  bool begins_stacks(uint64_t return_address) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memprof::cli
