// SPDX-License-Identifier: Apache-2.0
// Lines of optimised code, with the functions that the compiler inlined: from V8's own table of source positions
// and its list of inlined calls, which its events do not tell (of mid-tier code they tell no positions at all).
//
// Model: the table has {offset in the code, position in a script, inlined call} for each place; an inlined call has
// the function that it is of, and where in which other call it stands.  Functions are known by their bytecode.
//     table   +40  position 120  call 1          frames   leaf  line of 120
//     calls   1: leaf, at 77 in call 0           =>       mid   line of 77
//             0: mid, at 30 in the function               f     line of 30
// Where the tables are, depends on the version; what is taken for one must fit in full: every position of a
// function must be one that its bytecode has, but for the one where the function begins.  Of functions whose positions
// V8 never told (they are older than the handler: Node's own of its snapshot) nothing is looked for; their tables
// are read where those of others were found.
//
// Threads: one at a time.
// Allocates: never; every read of V8's memory goes through the system.
// Failure: 0 lines, or those of the function itself.
#pragma once

#include <cstdint>

#include "runtime/v8/code/code_object.h"
#include "runtime/v8/code/codes.h"

namespace memprof::v8 {

struct TablePosition {
  uint32_t offset;
  uint32_t position;
  int32_t call;  // index of the inlined call; -1: the function's own
};

// What differs between versions of V8.
struct TableForm {
  uint32_t bytecode_header;     // bytes of an array of bytecode before the first
  bool marks_statements_below;  // from 14 on: the lowest bit of a step says what its sign said before
};

// Decodes a table of source positions; 0: it is none of code of this size, or there are more than `max`.
uint32_t decode_positions(const Bytes& table, const TableForm& form, uint32_t code_bytes,
                          TablePosition* positions, uint32_t max);

class Inlining {
 public:
  // `scratch`: kScratchBytes of memory.
  static constexpr uint32_t kScratchBytes = 1u << 20;

  // Enters the lines of the optimised code of a record.  false: its table was not found.
  bool add_lines(Codes* codes, uint32_t record, const Code& code, const TableForm& form, uint8_t* scratch);
  // More functions are known now.
  void try_again();

 private:
  static constexpr uint32_t kMaxCalls = 256;
  struct Call {
    uint32_t position;
    int32_t parent;
    int32_t function;  // index in the list of functions; -1: the one that is compiled
    uint32_t record;   // of its bytecode
    uint32_t entry;    // the position where the function begins, plus one; 0: not met
  };

  bool find_calls(const Codes& codes, const Code& code, uint32_t bytecode_header,
                  const TablePosition* positions, uint32_t count, uint32_t max_call);
  static bool find_function(const Codes& codes, const Code& code, uint64_t literals, uint32_t bytecode_header,
                            Call* call);
  bool find_functions(const Codes& codes, const Code& code, uint64_t deopt_data, uint32_t bytecode_header,
                      const TablePosition* positions, uint32_t count);
  uint32_t add_frames(Codes* codes, uint32_t record, const TablePosition& at, uint32_t* line) const;

  CodeObjects tables_;
  CodeObjects call_lists_;
  uint32_t calls_count_ = 0;
  Call calls_[kMaxCalls];
};

}  // namespace memprof::v8
