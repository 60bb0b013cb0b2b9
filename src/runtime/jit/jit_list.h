// SPDX-License-Identifier: Apache-2.0
// The list of object files that a JIT keeps for debuggers: GDB's JIT interface.
//
// Model: a module exports __jit_debug_descriptor, which has the first entry of a list; the newest is the first.
//
//     descriptor -> { next, previous, file, bytes } <-> { ... } <-> ...
//
// The JIT changes it under a lock of its own, and may free what it takes out.  So entries are read through the kernel,
// and one counts only if a neighbour says so, too.
//
// Threads: any.  Signals, fork: safe.
// Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

namespace memprof::jit {

struct ListedFile {
  uint64_t entry;  // where it is in the list
  uint64_t previous;
  uint64_t next;
  uint64_t start;
  uint64_t size_bytes;
};

class JitList {
 public:
  static constexpr const char* kName = "__jit_debug_descriptor";

  // 0: there is no list.  Its module may be unloaded at any time.
  void set(uint64_t descriptor) { descriptor_.store(descriptor, std::memory_order_release); }
  uint64_t descriptor() const { return descriptor_.load(std::memory_order_acquire); }

  // Another number after each change of the list, but for chance; 0: there is none.
  uint64_t state() const;
  // The newest; false: there is none.
  bool first(ListedFile* file) const;
  bool next(ListedFile* file) const;
  // Is it in the list still?
  bool has(const ListedFile& file) const;

 private:
  bool read(uint64_t entry, uint64_t previous, ListedFile* file) const;

  std::atomic<uint64_t> descriptor_{0};
};

}  // namespace memprof::jit
