// SPDX-License-Identifier: Apache-2.0
// What a frame is to somebody who looks for the code that holds memory: the program's own, or something
// that only allocates for it.
//
// Model: a table of names, and of modules.  In doubt a frame is the program's own: code must not vanish
// because it sounds like a library.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model/model.h"
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
// Of code that was made at run time, or that no file has: its file is a name in angle brackets, like <string>.
bool is_made_code(const Frame& frame);
// Of these, what a person typed: at a prompt, in a cell of a notebook.
bool is_typed_code(const Frame& frame);

// What a known wrapper of malloc calls to get its memory is a part of that allocator, whatever it is called: Tcl's TclpAlloc
// cuts blocks out of pieces that static functions get for it, and with symbols of exported functions only these would be rows.
// From the allocation outwards, functions of the wrapper's own module, kMaxInside at most.
//
// Threads: one.
class AllocatorEnds {
 public:
  static constexpr size_t kMaxInside = 4;

  // `profile` must outlive it, and keep its locations.
  explicit AllocatorEnds(const Profile& profile) : profile_(profile), roles_(profile.locations.size()) {}

  // So many places of the stack, from the innermost on, are of such an allocator; 0: it has none.
  size_t of(const Stack& stack);

 private:
  // kWrapper where the outermost function of the location is a known wrapper; kOwn where it is another that does not only
  // allocate, and has no name or one that sounds like it; kGap where nothing can be said: another function, code that a runtime
  // executes, a gap, a wrapper inside of an own function.
  FrameRole role_at(uint32_t location);
  FrameRole find_role(uint32_t location) const;

  const Profile& profile_;
  std::vector<std::optional<FrameRole>> roles_;
};

}  // namespace memprof::profile
