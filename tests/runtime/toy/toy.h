// SPDX-License-Identifier: Apache-2.0
// A toy language: functions of instructions, executed by a loop with frames of its own.  It knows nothing of
// memprof; toy_runtime.h reads its frames.
//
// A call within the language makes a frame and no C++ frame.  A native function may call run() again: a second
// activation of the loop, on top of the first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace toy {

struct Function;

struct Instruction {
  enum Operation : uint8_t { kCall, kNative, kReturn };
  Operation operation;
  const Function* callee = nullptr;  // kCall
  void (*native)() = nullptr;        // kNative
};

struct Function {
  std::string name;
  std::string file;
  uint32_t first_line;
  std::vector<Instruction> code;
  std::vector<uint8_t> lines;  // of each instruction, after the first line
};

struct Frame {
  Frame* previous;
  const Function* function;
  uint32_t position;  // index of the instruction that it is at
};

// What the loop keeps on the C++ stack while it runs.
struct Activation {
  Activation* outer;
  Frame* top;
};

inline constexpr uint32_t kVersion = 0x0102;  // 1.2

// Of the calling thread; nullptr: it does not run the language.
Activation* running();

void run(const Function& function);

}  // namespace toy
