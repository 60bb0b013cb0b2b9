// SPDX-License-Identifier: Apache-2.0
// What a language's runtime tells of its own heap, in the arena: a tree of calls, each with the live bytes of what it made.
//
// Model: the tree is made in pages of its own and copied into the section as a whole.  `changes` is odd while that goes on,
// so that a reader who finds the same even number before and after has a whole tree.  Each tree takes the place of the one before.
//
// Threads: one at a time (the runtime's); readers at any time.
// Signals, fork: not from a handler; a fork child must not publish into its parent's arena.
// Allocates: pages, which it owns.
// Failure: kNone or false; what finds no room is said by kNone, and its bytes are for the caller to put elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/arena/runtime_heap.h"

namespace memprof {

// What the runtime counts of its heap (format/runtime_heap.h).
struct RuntimeHeapSums {
  uint64_t runtime;
  uint64_t resident_bytes;
  uint64_t used_bytes;
  uint64_t live_bytes;
  uint64_t code_bytes;
  uint64_t external_bytes;
  RuntimeHeapSpaces spaces;
};

class RuntimeHeapTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  RuntimeHeapTable() = default;
  ~RuntimeHeapTable();
  RuntimeHeapTable(const RuntimeHeapTable&) = delete;
  RuntimeHeapTable& operator=(const RuntimeHeapTable&) = delete;

  // An empty tree.  false: no memory.
  bool begin();
  // The place of a text, which equal ones share.  0, that of the empty text: there is no room.
  uint32_t text(const char* bytes, size_t size_bytes);
  // Its index; `entry.parent` kNone: it is a root.  kNone: there is no room.
  uint32_t add(const RuntimeHeapEntry& entry);
  // More bytes for one that is there.
  void add_bytes(uint32_t entry, uint64_t bytes);
  // The entries of another one behind those that are there; the last place stays free.  Bytes of roots without room.
  uint64_t append(const RuntimeHeapTable& other);
  // false: the arena has no room for it, or the system no memory; the tree before it stays.
  bool publish(const Arena& arena, const RuntimeHeapSums& sums) const;

 private:
  struct Pages;
  Pages* pages_ = nullptr;
};

}  // namespace memprof
