// SPDX-License-Identifier: Apache-2.0
// How to leave the function that contains an address: one row of the table that .eh_frame describes.
//
// Model (Linux Standard Base, "Exception Frames"; DWARF 5, 6.4): .eh_frame_hdr is an index, sorted by
// address, of the frame descriptions (FDE) in .eh_frame; an FDE and its common part (CIE) are programs that
// build the table; the row for an address says where the canonical frame address (CFA) is and, relative to
// it, where the caller's registers are.
//
// Registers are those that a walk needs: what a called function keeps, the stack pointer, the return address.
//
// Threads: no state.
// Signals, fork: pure; reads only inside Image::readable.
// Allocates: never; 2 KiB of stack.
// Failure: kCorrupt, whatever the bytes are.
#pragma once

#include <cstdint>

#include "unwind/tables/bytes.h"
#include "unwind/tables/registers.h"

namespace memprof::unwind {

// The unwind tables of one loaded module.
struct Image {
  uint64_t index;         // address of .eh_frame_hdr
  uint64_t readable_low;  // the loaded segment that it and .eh_frame lie in
  uint64_t readable_high;
  // What is to be added to an address in it for what is relative to that address: of a copy, where the tables
  // were minus where they are.
  uint64_t shift = 0;
};

struct Expression {
  uint64_t start;
  uint64_t end;
};

struct RegisterRule {
  enum Kind : uint8_t { kSame, kUndefined, kAtCfa, kCfaPlus, kInRegister, kAtExpression, kExpression };
  Kind kind;
  uint16_t length;  // of the expression
  uint8_t source;   // kInRegister: Register
  int64_t value;    // offset from the CFA, or address of the expression
};

struct Row {
  enum CfaKind : uint8_t { kCfaNone, kCfaRegister, kCfaExpression };
  CfaKind cfa_kind;
  uint8_t cfa_register;  // Register, or kRegisters: one that is not followed
  int64_t cfa_offset;
  Expression cfa_expression;
  RegisterRule registers[kRegisters];
  bool is_signal_frame;
};

enum class Found { kYes, kNo, kCorrupt };

// The addresses of a function's code: [start, limit).  What a compiler split off as cold is another one.
struct FunctionRange {
  uint64_t start;
  uint64_t limit;
};
Found find_function(const Image& image, uint64_t address, FunctionRange* range);

// The row for `address` (an instruction inside a function, so return address - 1).
Found find_row(const Image& image, uint64_t address, Row* row);

// For those who have an index of their own; Image::index is not used.  `description`: the address of an entry
// of .eh_frame, in `image`.
// The row for an address that is in its range.
Found find_row_in(const Image& image, uint64_t description, uint64_t address, Row* row);
// What code the entry describes.  false: it is a CIE, corrupt, or relative to a base that is not in `image`.
bool read_range(const Image& image, uint64_t description, FunctionRange* range);

}  // namespace memprof::unwind
