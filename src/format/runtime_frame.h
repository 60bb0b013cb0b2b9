// SPDX-License-Identifier: Apache-2.0
// Frames of language runtimes among the frames of a stack: which code (core/tables/code_table.h), and where
// in it.
//
//     63  62 ......... 32 31 .......... 0
//     1   `- code entry -' `- position --'      position: bytes of bytecode from the beginning of the code
//
// No return address of a program has the highest bit set.
#pragma once

#include <cstdint>

namespace memprof {

// What machine code is called that was made at run time: its module, and the file of code that a JIT listed by name.
inline constexpr char kMadeCode[] = "[JIT code]";

inline constexpr uint64_t kRuntimeFrame = uint64_t{1} << 63;
// Runtimes have ids from 1 to this one (MEMPROF_RUNTIME_* of memprof.h).
inline constexpr uint32_t kMaxRuntimes = 16;

// The largest code entry.  Of a frame whose code found no room in the table: unknown_code(runtime).
inline constexpr uint32_t kUnknownCode = 0x7fffffff;
inline constexpr uint32_t unknown_code(uint32_t runtime) {
  return kUnknownCode + 1 - runtime;
}
// The runtime of such an entry; 0: it is another one.
inline constexpr uint32_t runtime_of_unknown(uint32_t code) {
  const uint32_t runtime = kUnknownCode + 1 - code;
  return runtime <= kMaxRuntimes ? runtime : 0;
}

inline bool is_runtime_frame(uint64_t frame) {
  return (frame & kRuntimeFrame) != 0;
}
inline uint64_t runtime_frame(uint32_t code, uint32_t position_bytes) {
  return kRuntimeFrame | uint64_t{code & kUnknownCode} << 32 | position_bytes;
}
inline uint32_t code_of(uint64_t runtime_frame) {
  return static_cast<uint32_t>(runtime_frame >> 32) & kUnknownCode;
}
inline uint32_t position_of(uint64_t runtime_frame) {
  return static_cast<uint32_t>(runtime_frame);
}

}  // namespace memprof
