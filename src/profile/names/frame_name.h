// SPDX-License-Identifier: Apache-2.0
// What a frame is called wherever a person reads it: the function's name, else `module+0xoffset`, else
// `[JIT code]`, or an address where nothing is known of files.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/runtime_frame.h"
#include "profile/model/model.h"

namespace memprof::profile {

struct Frame {
  std::string name;          // never empty
  std::string symbol;        // as in the symbol table; empty: unknown
  std::string file;          // source file; empty: unknown
  int64_t line = 0;          // 0: unknown
  std::string module;        // file name of the executable or library, without folder; empty: unknown
  std::string build_id;      // of that file, where the function has no name; empty: unknown
  bool is_named = false;     // `name` is a function's name
  bool is_executed = false;  // by a runtime (CPython): it has no address
  bool is_made = false;      // code that was made at run time: it is in no file
};

// What such code without a name is called, and the module of all of it.
using memprof::kMadeCode;

// `libc.so.6+0x1234`: file name of the module and offset in the file (address - start + file_offset); `0x...`
// where no mapping is known.
std::string location_place(const Profile& profile, const Location& location);

// File name of the location's mapping, without folder, or runtime_module(); empty: unknown.
std::string location_module(const Profile& profile, const Location& location);

// The frames of one location, innermost inlined function first; at least one.
std::vector<Frame> location_frames(const Profile& profile, const Location& location);

// As tables show the frame: without what of a name is seldom asked for (short_name.h).
std::string shown_frame_name(const Frame& frame);

}  // namespace memprof::profile
