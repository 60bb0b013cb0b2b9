// SPDX-License-Identifier: Apache-2.0
// Interned texts in the arena: paths of modules, names of heaps, functions and files of language runtimes.
//
// Model: an intern index (core/arena/intern_index.h) over entries, each with a piece of the text section.  Who
// keeps the id of a name holds a use of it.  A name that nobody uses stays where it is and can be found again;
// when the table is full, another text takes its entry and its piece (core/tables/table_sweep.h says how uses
// end).  A text for which no piece is large enough is shortened, and ends with "..." then.
//
// Threads: any number.  An entry is closed by a compare-exchange of its uses before it is written anew.
// Allocates: from its sections.
// Failure: kNone when a limit is reached.  A text longer than kMaxNameBytes is cut.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/intern_index.h"

namespace memprof {

// Where a text or a table of lines lies in the text section, and how much room it has there: before version 9
// the place alone.
class TextPiece {
 public:
  static constexpr int kPlaceBits = 40;
  static constexpr uint64_t kRoomUnit = 16;
  static constexpr uint64_t place(uint64_t piece) { return piece & ((uint64_t{1} << kPlaceBits) - 1); }
  static constexpr uint64_t room_bytes(uint64_t piece) { return (piece >> kPlaceBits) * kRoomUnit; }
  static constexpr uint64_t rounded(uint64_t size_bytes) {
    return (size_bytes + kRoomUnit - 1) / kRoomUnit * kRoomUnit;
  }
  static constexpr uint64_t make(uint64_t place, uint64_t rounded_bytes) {
    return place | (rounded_bytes / kRoomUnit) << kPlaceBits;
  }
};

struct NameEntry {
  std::atomic<uint64_t> hash;
  uint64_t piece;  // TextPiece; NUL-terminated there
  uint32_t size_bytes;
  std::atomic<uint32_t> uses;  // with kClosed: it is being written anew.  0 in files of before version 9

  static constexpr uint32_t kClosed = uint32_t{1} << 31;
};

class NameTable {
 public:
  static constexpr uint32_t kNone = InternIndex::kNone;
  static constexpr uint64_t kMaxNameBytes = 4096;

  NameTable() = default;
  explicit NameTable(const Arena& arena);

  // The caller holds a use of it, until release().
  uint32_t intern(const char* text, uint64_t size_bytes);
  void release(uint32_t id) const { entries_[id].uses.fetch_sub(1, std::memory_order_release); }
  // One more use, of an id that may be given away meanwhile.  false: it is being written anew.
  bool hold(uint32_t id) const;

  // Of a name that is held.
  const char* text(uint32_t id) const {
    return arena_.at<char>(kTextSection, TextPiece::place(entries_[id].piece));
  }

 private:
  uint32_t find_or_make(const char* text, uint64_t size_bytes);
  uint32_t make(uint64_t hash, const char* text, uint64_t size_bytes);
  uint32_t make_new(uint64_t hash, const char* text, uint64_t size_bytes);
  uint32_t make_anew(uint64_t hash, const char* text, uint64_t size_bytes);
  void write(NameEntry* e, uint64_t hash, const char* text, uint64_t size_bytes);

  Arena arena_;
  InternIndex index_;
  NameEntry* entries_ = nullptr;
};

}  // namespace memprof
