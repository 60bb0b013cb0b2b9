// SPDX-License-Identifier: Apache-2.0
// Lines of baseline code.  V8 compiles it bytecode by bytecode and tells no positions of it, but keeps a table of
// where the machine code of each bytecode ends: from there to the bytecode, and to its line.
//
// Model: two sequences side by side.  The lengths of bytecodes are those of the version (its own table
// interpreter::Bytecodes::kBytecodeSizes); the table of ends has a number for the code before the first bytecode
// and one for each bytecode, 7 bits to a byte.  Where the counts or the sums do not agree, nothing is made: a
// version that is laid out in another way has no lines of baseline code, never wrong ones.
//
// Threads: no state.
// Allocates: never.
// Failure: 0.
#pragma once

#include <cstdint>

#include "runtime/v8/code/codes.h"

namespace memprof::v8 {

// Of each bytecode two digits: operands that a prefix makes wider, and bytes that stay.
const char* bytecode_sizes(uint32_t version);

struct Bytes {
  const uint8_t* data;
  uint32_t size_bytes;
};

struct BaselineCode {
  const char* sizes;  // of bytecode_sizes()
  Bytes bytecode;
  uint32_t machine_bytes;   // of the code
  const PositionLine* own;  // lines of the bytecode
  uint32_t own_count;
};

// Returns how many lines of the code it wrote; 0: `ends` is not the table of this code.
uint32_t make_baseline_lines(const BaselineCode& code, const Bytes& ends, PositionLine* lines,
                             uint32_t max_lines);

}  // namespace memprof::v8
