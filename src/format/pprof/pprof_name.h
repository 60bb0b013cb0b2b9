// SPDX-License-Identifier: Apache-2.0
// What the end of a file's name says, when the file is to be a pprof profile: the same in the profiled
// process and in the command.
//
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstring>

namespace memprof::profile {

struct PprofEnd {
  const char* text;
  bool has_gzip;
};

// A longer end stands before the shorter one that it ends in.
inline constexpr PprofEnd kPprofEnds[] = {{".pb.gz", true}, {".pprof", true}, {".pb", false}};

// nullptr: the name has none of them.
inline const PprofEnd* pprof_end_of(const char* path) {
  const size_t length = strlen(path);
  for (const PprofEnd& end : kPprofEnds) {
    const size_t size = strlen(end.text);
    if (length >= size && memcmp(path + length - size, end.text, size) == 0) {
      return &end;
    }
  }
  return nullptr;
}

}  // namespace memprof::profile
