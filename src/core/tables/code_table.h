// SPDX-License-Identifier: Apache-2.0
// Code of language runtimes: function, file and lines, as they were when a stack first ran through it, so
// that they are right after the code is gone, and after the process is.
//
// Model: an intern index (core/arena/intern_index.h) over entries that are told apart by their content: code
// that is made anew from the same source is the entry that it was.  An entry that no stack names can be given to
// other code (core/tables/table_sweep.h); `reuse` tells the two apart, in the id that frames have:
//     30 ...... 16 15 ..... 0
//     `- reuse ---' `- entry -'
//
// Threads: any number.  An entry is closed by a compare-exchange of its uses before it is written anew.
// Allocates: from its sections.
// Failure: kNone when a limit is reached.  A line table longer than kMaxLinesBytes is cut: the lines after
// that are unknown; so are those of code for whose line table there is no room.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/intern_index.h"
#include "core/tables/name_table.h"

namespace memprof {

struct CodeFacts {
  const char* function;  // UTF-8
  uint32_t function_bytes;
  const char* file;
  uint32_t file_bytes;
  const uint8_t* lines;  // in the runtime's own form (core/reader/runtime_code.h)
  uint64_t lines_bytes;
  uint32_t first_line;
  uint32_t runtime;  // its id, MEMPROF_RUNTIME_* of memprof.h
};

struct CodeEntry {
  std::atomic<uint64_t> hash;
  uint64_t lines;  // TextPiece
  uint32_t lines_bytes;
  uint32_t function;  // name ids, held
  uint32_t file;
  uint32_t first_line;
  uint16_t runtime;
  std::atomic<uint16_t>
      reuse;  // how often it became other code, modulo kReuses; before it is opened (release)
  // Who looks at it, low half; with kClosed: it is being written, or (kFree) nobody's.  Above it the sweep
  // (core/tables/table_sweep.h) in which it was last met.  0 in files of before version 9.
  std::atomic<uint32_t> uses;

  static constexpr uint32_t kClosed = uint32_t{1} << 31;
  static constexpr uint32_t kFree = uint32_t{1} << 30;
  static constexpr uint32_t kUsersMask = (uint32_t{1} << 16) - 1;
  static constexpr uint32_t kSweepShift = 16;
  static constexpr uint32_t kSweepMask = (uint32_t{1} << 14) - 1;
};

class CodeTable {
 public:
  static constexpr uint32_t kNone = InternIndex::kNone;
  static constexpr int kEntryBits = 16;
  static constexpr uint32_t kMaxCodes = 1u << kEntryBits;  // with fewer stacks, as many as those
  static constexpr uint32_t kReuses = 0x7fff;              // one less than bits allow: unknown_code()
  static constexpr uint64_t kMaxLinesBytes = 64 * 1024;

  CodeTable() = default;
  CodeTable(const Arena& arena, NameTable* names);

  uint32_t intern(const CodeFacts& facts);

  static uint32_t entry_of(uint32_t id) { return id & (kMaxCodes - 1); }
  static uint32_t reuse_of(uint32_t id) { return id >> kEntryBits; }

  uint64_t size() const;
  // Entries that code has.
  uint64_t in_use() const {
    return size() - arena_.header().sweep.free_codes.load(std::memory_order_relaxed);
  }
  // Is it this code still?
  bool has(uint32_t id) const;
  // Takes an entry from its code, if that was met in no sweep since `sweep` (modulo) and nobody looks at it.
  bool free_entry(uint32_t entry, uint32_t sweep);
  // Was it met in this sweep or in the one before?
  bool is_recent(uint32_t entry, uint32_t sweep) const;
  uint32_t runtime_of(uint32_t entry) const { return entries_[entry].runtime; }
  // The id of "[older functions]" of the same file; kNone: no room.
  uint32_t intern_older(uint32_t entry);

 private:
  struct Content {
    uint64_t hash;
    uint32_t function;
    uint32_t file;
    const uint8_t* lines;
    uint32_t lines_bytes;
    uint32_t first_line;
    uint32_t runtime;
  };
  uint32_t intern(const Content& content);
  bool is(uint32_t entry, const Content& content) const;
  bool hold(uint32_t entry) const;
  void release(uint32_t entry) const { entries_[entry].uses.fetch_sub(1, std::memory_order_release); }
  uint32_t make(const Content& content);
  uint32_t make_new(const Content& content);
  uint32_t make_anew(const Content& content);
  void write(CodeEntry* e, const Content& content) const;
  uint32_t met(uint32_t entry) const;

  Arena arena_;
  InternIndex index_;
  NameTable* names_ = nullptr;
  CodeEntry* entries_ = nullptr;
};

}  // namespace memprof
