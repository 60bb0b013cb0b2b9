// SPDX-License-Identifier: Apache-2.0
// Frames of a language's runtime: the code that it executes, which has a function and a line and no address,
// and the interpreter's own functions around it.
//
// Threads: immutable once made; the profile must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// The function of a location that a runtime named; nullptr: it is native, or stands for frames that were
// left out.
const Function* runtime_function(const Profile& profile, const Location& location);

// The same of code that a language's runtime executes; nullptr also for machine code that a JIT listed by name, whose
// file is kMadeCode (frame_name.h).
const Function* executed_function(const Profile& profile, const Location& location);

class InterpreterFrames {
 public:
  explicit InterpreterFrames(const Profile& profile);

  // The place after the outermost frame of the stack that a runtime executes; 0: there is none.
  size_t executed_end(const Stack& stack) const;
  // Is the frame at `place` of the stack a native function of an interpreter's own executable or library
  // (python3.11, libpython3.12.so.1.0, node), or code that its JIT made: in no file, right above what it executes?
  bool is_interpreter(const Stack& stack, size_t place) const;

 private:
  enum class Kind : uint8_t { kNative, kInterpreter, kExecuted, kNowhere };
  std::vector<Kind> kinds_;  // of each location
};

}  // namespace memprof::profile
