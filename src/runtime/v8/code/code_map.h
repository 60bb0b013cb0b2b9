// SPDX-License-Identifier: Apache-2.0
// Which code lies at an address: ranges that do not overlap, in order.
//
// Model: sorted chunks of ranges under a sorted directory, so that an insertion moves at most a chunk and
// the directory.  V8 says where code is added and where it moves to; code that is gone is known only by other
// code that comes to its place, and is taken out then.
//
// Threads: one at a time.
// Allocates: never; zeroed memory is a valid, empty map.
// Failure: insert() returns false when the map is full.
#pragma once

#include <cstdint>

namespace memprof::v8 {

struct Code {
  uint64_t start;
  uint32_t size_bytes;
  uint32_t record;  // of whoever uses the map
  uint64_t limit() const { return start + size_bytes; }
};

class CodeMap {
 public:
  static constexpr uint32_t kChunkCodes = 256;
  static constexpr uint32_t kMaxChunks = 2048;

  // The code that `address` lies in; nullptr: none.  Valid until the map changes.
  const Code* find(uint64_t address) const;
  // Takes out one that overlaps [start, limit).  false: none does.
  bool take_overlapping(uint64_t start, uint64_t limit, Code* taken);
  // Takes out the one that starts at `start`.
  bool take(uint64_t start, Code* taken);
  // Nothing of the map may overlap it.
  bool insert(const Code& code);
  void clear();

 private:
  struct Chunk {
    Code codes[kChunkCodes];
  };
  struct Entry {
    uint64_t first;  // start of the chunk's first code
    uint32_t chunk;
    uint32_t count;  // never 0
  };
  struct Place {
    uint32_t entry;
    uint32_t index;
  };

  uint32_t entries() const;
  // The last code that starts at or before `address`; false: none does.
  bool place_of(uint64_t address, Place* place) const;
  const Code& at(Place place) const { return chunks_[directory_[place.entry].chunk].codes[place.index]; }
  void erase(Place place);
  bool new_chunk(uint32_t* chunk);
  bool split(uint32_t index);

  uint32_t entries_ = 0;
  uint32_t chunks_used_ = 0;
  uint32_t free_count_ = 0;
  uint32_t free_[kMaxChunks];  // chunks that became empty
  Entry directory_[kMaxChunks];
  Chunk chunks_[kMaxChunks];
};

}  // namespace memprof::v8
