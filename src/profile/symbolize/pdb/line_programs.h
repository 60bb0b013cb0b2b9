// SPDX-License-Identifier: Apache-2.0
// The lines of an inlined call, as CodeView packs them (binary annotations): code ranges of the call, each with its file and
// its line.
//
// Model: a program for a machine with a code offset, a file and a line.  A new code offset begins a range and ends the one
// before it, unless a length did.
//
// Threads: pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace memprof::profile {

struct InlineRange {
  static constexpr uint32_t kSameFile = UINT32_MAX;

  uint32_t begin = 0;  // from the beginning of the function that has the code
  uint32_t end = 0;
  uint32_t file =
      kSameFile;           // offset in the module's table of files; kSameFile: that of the inlined function
  int64_t line_delta = 0;  // from the line where the inlined function begins
};

// In the order of the program; no empty ones.  Ends where the program has an instruction that is not known.
std::vector<InlineRange> inline_ranges(std::string_view annotations);

}  // namespace memprof::profile
