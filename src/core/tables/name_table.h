// SPDX-License-Identifier: Apache-2.0
// Interned texts in the arena: paths of modules now, names of language runtimes later.
//
// Threads: any number; built on core/tables/intern_index.h.
// Allocates: from its sections.
// Failure: kNone when a limit is reached.  A text longer than kMostNameBytes is cut.
#pragma once

#include <cstdint>

#include "core/tables/intern_index.h"

namespace memprof {

struct NameEntry {
  uint64_t hash;
  uint64_t offset;  // in the text section; NUL-terminated there
  uint64_t size_bytes;
};

class NameTable {
 public:
  static constexpr uint32_t kNone = InternIndex::kNone;
  static constexpr uint64_t kMostNameBytes = 4096;

  NameTable() = default;
  explicit NameTable(const Arena& arena);

  uint32_t intern(const char* text, uint64_t size_bytes);

  const char* text(uint32_t id) const { return arena_.at<char>(kTextSection, entries_[id].offset); }

 private:
  uint32_t make(uint64_t hash, const char* text, uint64_t size_bytes);

  Arena arena_;
  InternIndex index_;
  NameEntry* entries_ = nullptr;
};

}  // namespace memprof
