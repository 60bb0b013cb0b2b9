// SPDX-License-Identifier: Apache-2.0
// The functions of an object file that a JIT has in memory: an ELF file of 64 bits, as debuggers are given it.
//
// Model: in a relocatable file, whose sections say where they were put, a symbol is relative to its section; in others it
// is an address.  What is read may be gone, or something else: nothing of it is believed.
//
// Threads: plain values.  Signals, fork: safe.
// Allocates: never.
// Failure: there are no functions.
#pragma once

#include <cstdint>

namespace memprof::jit {

class ObjectFile {
 public:
  static constexpr uint64_t kMaxTableBytes = uint64_t{16} << 20;  // of symbols, and of names

  struct Table {
    uint64_t start = 0;
    uint64_t size_bytes = 0;
  };
  struct Symbol {
    uint64_t start;
    uint64_t limit;
    uint32_t name;  // where in the table of names
  };

  ObjectFile(uint64_t start, uint64_t size_bytes);

  // Empty: it has none, or they cannot be read.
  const Table& symbols() const { return symbols_; }
  const Table& names() const { return names_; }
  static constexpr uint64_t kSymbolBytes = 24;

  // Is the symbol whose entry was copied to `entry` a function that has a place?
  bool function(const char* entry, Symbol* symbol) const;

 private:
  bool section(uint64_t index, struct SectionHeader* header) const;

  uint64_t start_;
  uint64_t size_bytes_;
  uint64_t sections_ = 0;  // where their headers are
  uint32_t section_count_ = 0;
  bool is_relocatable_ = false;
  Table symbols_;
  Table names_;
};

}  // namespace memprof::jit
