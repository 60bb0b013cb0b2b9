// SPDX-License-Identifier: Apache-2.0
// The functions of allocators inside modules whose blocks are seen: what these map, or what is mapped while one of
// them runs, is the allocator's memory, and no mapping of the program's.
//
// Threads, signals: any; lock-free.  Who reads while others add or remove may find a function that has just come or
// gone either way.
// Allocates: never.
// Failure: what finds no room is left out: its mappings are the program's.
#pragma once

#include <atomic>
#include <cstdint>

namespace memprof::mappings {

class AllocatorCode {
 public:
  static constexpr uint32_t kMax = 2048;

  void add(uint64_t start, uint64_t limit);
  // What was added with that start.
  void remove(uint64_t start);
  bool contains(uint64_t address) const;
  bool is_empty() const { return used_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Range {
    std::atomic<uint64_t> start;  // 0: free; release, after `limit`
    std::atomic<uint64_t> limit;
  };
  static constexpr uint64_t kTaken = 1;  // somebody writes the range

  uint32_t used() const;

  Range ranges_[kMax] = {};
  std::atomic<uint32_t> used_{0};  // ranges behind it were never taken
};

}  // namespace memprof::mappings
