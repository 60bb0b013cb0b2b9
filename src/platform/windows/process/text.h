// SPDX-License-Identifier: Apache-2.0
// Text of Windows, UTF-16, and ours, UTF-8.  Half of a pair, or no UTF-8, becomes U+FFFD.
//
// Threads: no state.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// As much as fits, whole characters, and a NUL.  Bytes without the NUL.
size_t to_utf8(const wchar_t* text, size_t length, char* out, size_t size_bytes);
// The same of a path, with slashes, which Windows takes as well, and by which readers elsewhere tell its parts.
size_t path_to_utf8(const wchar_t* path, size_t length, char* out, size_t size_bytes);
// Units without the NUL.
size_t to_utf16(const char* text, wchar_t* out, size_t units);

// A path for the functions that open files: absolute paths that are long get the prefix that takes their limit away.
struct WidePath {
  static constexpr size_t kUnits = 4096;
  explicit WidePath(const char* path);
  wchar_t text[kUnits + 8];
};

}  // namespace memprof::platform
