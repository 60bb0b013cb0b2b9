// SPDX-License-Identifier: Apache-2.0
// The code of one isolate, as V8's code events told it: what lies where, which function it is of, and the line
// of each place in it.
//
// Model: a range of addresses (code_map.h) has a record, which stays while the code moves.  Records of one
// function share its name, whatever tier they are of: the mark of the tier is left out.  Bytecode has a table
// of positions and lines.  The compiler takes the positions of optimised code from the bytecode, and does not
// say which of them are of functions that it inlined: a position that the function's own bytecode does not have
// is of another one, and counts as the line of the own position before it.
//
// Threads: writers are one at a time (isolates.h).  A reader that comes in between, in a hook, gets a wrong
// answer at worst: every index is checked.
// Allocates: never; lives in zeroed pages of its owner's, which are touched as they are used.
// Failure: add() returns false when the tables are full; then nothing new is known.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/v8/code/code_map.h"

namespace memprof::v8 {

struct PositionLine {
  uint32_t offset;    // in the code
  uint32_t position;  // of bytecode: in the script; of machine code: a chain of inlined frames, 0: none
  uint32_t line;      // 0: unknown
};

enum class CodeKind : uint8_t { kBytecode, kMachineCode };

// What was found at an address.
struct FoundCode {
  uint32_t name;  // for Codes::name()
  uint32_t line;  // 0: not known but for the whole function
  bool is_bytecode;
  bool is_internal;  // Node's own, or no JavaScript
  uint32_t inlined;  // for Codes::inlined(): the leaf of what is inlined there; 0: nothing
  bool lacks_inlined;
};

class Codes {
 public:
  static constexpr uint32_t kMaxRecords = 1u << 18;
  static constexpr uint32_t kMaxNames = 1u << 17;
  static constexpr uint32_t kMaxTextBytes = 12u << 20;
  static constexpr uint32_t kMaxLines = 1u << 20;
  static constexpr uint32_t kMaxInlined = 1u << 18;
  static constexpr uint32_t kMaxNameBytes = 1000;

  static constexpr uint32_t kNone = UINT32_MAX;

  // Returns the record; kNone: the tables are full.  The same code again is the record that it was.
  uint32_t add(CodeKind kind, uint64_t start, uint32_t size_bytes, std::string_view name);
  void move(uint64_t from, uint64_t to);
  // Adds its lines, in the order of offsets; of bytecode these are the positions that the function has.
  void set_lines(uint32_t record, const PositionLine* lines, uint32_t count);
  // The lines of the function's own bytecode; nullptr: none are known.
  const PositionLine* own_lines(uint32_t record, uint32_t* count) const;

  // Where that bytecode is now; false: not known.
  bool own_bytecode(uint32_t record, Code* code) const;

  // `is_return`: the address is where a call comes back to.
  bool find(uint64_t address, bool is_return, FoundCode* found) const;

  // A frame that was inlined into another: `caller`, 0 if that is the function itself.  `record`: of the function's
  // bytecode, or kNone.  Returns 0 when the table is full.
  struct InlinedFrame {
    uint32_t name;    // kNone: not known
    uint32_t line;    // 0: unknown
    uint32_t caller;  // of the chain
  };
  uint32_t add_inlined(uint32_t record, uint32_t line, uint32_t callee);
  bool inlined(uint32_t index, InlinedFrame* frame) const;
  // The record of the bytecode that begins at `address`; kNone: none does.
  uint32_t bytecode_at(uint64_t address) const;
  bool is_internal(uint32_t record) const { return records_[record].is_internal; }

  // Of optimised code: it has inlined functions that are not known (yet).
  void set_lacks_inlined(uint32_t record, bool lacks) { records_[record].lacks_inlined = lacks; }
  // The first such code of a record from `first` on; false: none.
  bool find_lacking(uint32_t first, Code* code) const;

  // Without the mark of a tier.
  std::string_view name(uint32_t index) const;
  // What was kept of a name for the tables of this number: a word that is not 0.  0: nothing.
  uint64_t kept(uint32_t index, uint32_t tables) const;
  void keep(uint32_t index, uint32_t tables, uint64_t word);

  bool is_full() const { return is_full_; }
  void clear();

 private:
  static constexpr uint32_t kHashSlots = kMaxNames * 2;
  struct Record {
    uint64_t start;
    uint32_t size_bytes;
    uint32_t name;
    uint32_t first_line;  // of lines_
    uint32_t line_count;
    CodeKind kind;
    bool is_internal;
    bool lacks_inlined;
  };
  struct NameEntry {
    uint32_t text;
    uint32_t size_bytes;
    uint32_t bytecode;  // its record + 1; 0: not known, or without lines
    uint32_t reserved;
    uint64_t kept;
    uint32_t kept_for;
  };

  uint32_t intern(std::string_view name);
  void release(const Code& code);

  bool is_full_ = false;
  uint32_t records_used_ = 0;
  uint32_t free_record_ = 0;  // the first free one + 1; they are linked by `name`
  uint32_t names_used_ = 0;
  uint32_t text_used_ = 0;
  uint32_t lines_used_ = 0;
  uint32_t inlined_used_ = 0;
  CodeMap map_;
  Record records_[kMaxRecords];
  NameEntry names_[kMaxNames];
  uint32_t hash_[kHashSlots];  // name + 1
  char text_[kMaxTextBytes];
  PositionLine lines_[kMaxLines];
  InlinedFrame inlined_[kMaxInlined];
};

// Makes the lines of optimised code of a function: `lines` have offsets and positions, `own` those of its
// bytecode.
void resolve_inlined(PositionLine* lines, uint32_t count, const PositionLine* own, uint32_t own_count);

}  // namespace memprof::v8
