// SPDX-License-Identifier: Apache-2.0
// What a frame is to somebody who looks for the code that holds memory: the program's own, or something
// that only allocates for it.
//
// Model: a table of names, and of modules.  In doubt a frame is the program's own: code must not vanish
// because it sounds like a library.
//
// Threads: no state.
#pragma once

#include <string>
#include <string_view>

#include "profile/names/frame_name.h"

namespace memprof::profile {

enum class FrameRole : uint8_t {
  kOwn,
  kAllocation,  // malloc, operator new ...: what pprof drops, too (allocator_frames.h)
  kWrapper,  // known functions around those: xmalloc, g_malloc, a class's operator new; what continues async functions
  kLibrary,   // of a language: libstdc++, libc++, libc, Rust's std, alloc and core; the code before main
  kImport,    // Python's import machinery; Node's own scripts
  kNameless,  // native, without a function's name
  kGap,       // stands for frames in the middle that were left out
};

FrameRole frame_role(const Frame& frame);

// By the file name of a module: libc, libstdc++, the loader ...
bool is_language_library(std::string_view module);

// Of code that Python executes: the package that its file is installed with, or the part of Python's own library,
// `numpy`, `json`.  Empty: it is the program's own, or nobody can tell.
std::string installed_package(const Frame& frame);

// Of code that Python executes, in a file that can be told to be of a package or not.
bool has_known_package(const Frame& frame);

}  // namespace memprof::profile
