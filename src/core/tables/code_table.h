// SPDX-License-Identifier: Apache-2.0
// Code of language runtimes: function, file and lines, as they were when a stack first ran through it, so
// that they are right after the code is gone, and after the process is.
//
// Model: an intern index (core/tables/intern_index.h) over entries that are told apart by their content: code
// that is made anew from the same source is the entry that it was.  Nothing is ever removed.
//
// Threads: any number.
// Allocates: from its sections.
// Failure: kNone when a limit is reached.  A line table longer than kMostLinesBytes is cut: the lines after
// that are unknown.
#pragma once

#include <cstdint>

#include "core/tables/intern_index.h"
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
  uint64_t hash;
  uint64_t lines_offset;  // in the text section
  uint32_t lines_bytes;
  uint32_t function;  // name ids
  uint32_t file;
  uint32_t first_line;
  uint32_t runtime;
  uint32_t reserved;
};

class CodeTable {
 public:
  static constexpr uint32_t kNone = InternIndex::kNone;
  static constexpr uint32_t kMostCodes = 1u << 16;  // with fewer stacks, as many as those
  static constexpr uint64_t kMostLinesBytes = 64 * 1024;

  CodeTable() = default;
  CodeTable(const Arena& arena, NameTable* names);

  uint32_t intern(const CodeFacts& facts);

 private:
  uint32_t make(const CodeEntry& entry, const uint8_t* lines);

  Arena arena_;
  InternIndex index_;
  NameTable* names_ = nullptr;
  CodeEntry* entries_ = nullptr;
};

}  // namespace memprof
