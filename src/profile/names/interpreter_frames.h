// SPDX-License-Identifier: Apache-2.0
// Frames of a language's runtime: the code that it executes, which has a function and a line and no address, the
// interpreter's own functions around it, and the native code that it calls.
//
// Model: native code counts as the line that called it: the first line outwards that a runtime executes.  A program
// that embeds an interpreter has native code of its own, which its lines call, too, and what that calls stays
// native.  Its own are its executable, and in each stack the modules that called into the interpreter.  Where
// the executable is an interpreter, nothing native is the program's own, but for functions that Cython made of the
// program's own lines: of a .pyx file that is known, or in a module that is not installed with a package.  What mypyc
// compiled, of a package, too, is the functions of its source: they keep their rows.
//
// Threads: immutable once made; the profile must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// The function of a location that a runtime named; nullptr: it is native, or stands for frames that were
// left out.
const Function* runtime_function(const Profile& profile, const Location& location);

// The same of code that a language's runtime executes; nullptr also for machine code that a JIT listed by name, whose
// file is kMadeCode (frame_name.h).
const Function* executed_function(const Profile& profile, const Location& location);

// By the name of its file: python3.11, libpython3.12.so.1.0, node.
bool is_interpreter_file(std::string_view path);

// How symbols of what Cython made begin, and those of functions among them: `__pyx_pw_5cymod_1f`.
inline constexpr std::string_view kCythonPrefix = "__pyx_";
bool is_cython_symbol(std::string_view symbol);
// Of functions that mypyc compiled, each from one of the source: `CPyDef_build___State___parse`.
inline constexpr std::string_view kMypycPrefix = "CPyDef_";
bool is_mypyc_symbol(std::string_view symbol);

// kRuns: starts, runs and ends.  kFrozen: code that the interpreter brings in its executable.
enum class StartRole : uint8_t { kNone, kStarts, kRuns, kEnds, kFrozen };

class InterpreterFrames {
 public:
  explicit InterpreterFrames(const Profile& profile);

  // The place after the outermost frame of the stack that a runtime executes; 0: there is none.
  size_t executed_end(const Stack& stack) const;
  // Is the frame at `place` of the stack a native function of an interpreter's own executable or library
  // (python3.11, libpython3.12.so.1.0, node), or code that its JIT made: in no file, right above what it executes?
  bool is_interpreter(const Stack& stack, size_t place) const;
  // Is it one in which Python starts: its types, its own modules, `site`?  Or one that runs a program, of which nothing
  // but the interpreter's own modules runs yet: the script is looked for, read and compiled?
  bool starts_python(const Stack& stack, size_t place) const;

  // For each place of the stack: whether it is native code that counts as the line that called it.  The interpreter's
  // own functions are not among it.
  void mark_called(const Stack& stack, std::vector<bool>* is_called) const;

 private:
  // kMade: named code in no file, which the program or a JIT in it made, Cython, or mypyc.
  enum class Kind : uint8_t { kNative, kInterpreter, kExecuted, kNowhere, kMade, kGap };
  using Modules = std::vector<bool>;  // by mapping

  Modules modules_of_program(const std::string& process) const;

  const Profile& profile_;
  std::vector<Kind> kinds_;             // of each location
  std::vector<StartRole> starts_;       // the same
  Modules is_library_;                  // of a language
  std::map<std::string, Modules> own_;  // by process: its executable; none: that is an interpreter
};

}  // namespace memprof::profile
