// SPDX-License-Identifier: Apache-2.0
// Ways to read an interpreter's structures.
//
// A thread that allocates is inside the interpreter at a place where its own frames are whole: they are read
// as they stand (DirectMemory).  A signal handler may have come in between two stores, a thread without the
// GIL may have lost its frames, and before the layout was seen to be right nothing is known: then every read
// goes through the system, one by one (CheckedMemory) or some frames at a time (CopiedMemory).
//
// Threads, signals: no state; a CopiedMemory is one walk's own.
// Allocates: never.
// Failure: false.
#pragma once

#include <cstdint>
#include <cstring>

#include "platform/memory.h"

namespace memprof::cpython {

// Not a small number, and an address that a program can have.
inline bool is_plausible(uint64_t address) {
  constexpr uint64_t kMin = 4096;
  constexpr uint64_t kLimit = uint64_t{1} << 48;
  return address - kMin < kLimit - kMin;
}

// Of the C stack that the thread is running on.
struct StackRange {
  uint64_t low;
  uint64_t high;
  bool contains(uint64_t address) const { return low <= address && address < high; }
};

struct DirectMemory {
  explicit DirectMemory(const StackRange& /*stack*/) {}
  using Once = DirectMemory;  // for what is read but once
  // Asked once of each pointer that is followed; what it leads to is then read without a question.
  static bool may_be(uint64_t address) { return is_plausible(address); }
  template <typename T>
  static bool read(uint64_t address, T* value) {
    memcpy(value, reinterpret_cast<const void*>(address), sizeof(T));
    return true;
  }
  static bool is_readable(uint64_t address, uint64_t /*size_bytes*/) { return may_be(address); }
};

struct CheckedMemory {
  explicit CheckedMemory(const StackRange& /*stack*/) {}
  using Once = CheckedMemory;
  static bool may_be(uint64_t address) { return is_plausible(address); }
  template <typename T>
  static bool read(uint64_t address, T* value) {
    return is_plausible(address) && platform::read_memory(address, value, sizeof(T));
  }
  static bool is_readable(uint64_t address, uint64_t size_bytes) {
    constexpr uint64_t kPage = 4096;
    char byte;
    for (uint64_t at = address; at < address + size_bytes; at = (at / kPage + 1) * kPage) {
      if (!read(at, &byte)) {
        return false;
      }
    }
    return size_bytes == 0 || read(address + size_bytes - 1, &byte);
  }
};

// Frames lie beside each other: a system call brings a block of them.  What is on the thread's own stack is
// there.
class CopiedMemory {
 public:
  using Once = CheckedMemory;
  explicit CopiedMemory(const StackRange& stack) : stack_(stack) {}
  static bool may_be(uint64_t address) { return is_plausible(address); }
  template <typename T>
  bool read(uint64_t address, T* value) const {
    if (stack_.contains(address) && stack_.contains(address + sizeof(T) - 1)) {
      return DirectMemory::read(address, value);
    }
    const uint64_t start = address & ~(kBlockBytes - 1);
    if (address + sizeof(T) > start + kBlockBytes) {
      return CheckedMemory::read(address, value);
    }
    const Block* const block = find(start);
    if (block == nullptr) {
      return false;
    }
    memcpy(value, block->bytes + (address - start), sizeof(T));
    return true;
  }

 private:
  static constexpr uint64_t kBlockBytes = 2048;  // a page has a whole number of them
  static constexpr uint64_t kNothing = 1;
  struct Block {
    uint64_t start = kNothing;
    char bytes[kBlockBytes];
  };

  // Two: frames of functions and those of generators take turns.
  const Block* find(uint64_t start) const {
    if (blocks_[last_].start == start) {
      return &blocks_[last_];
    }
    last_ ^= 1;
    Block& block = blocks_[last_];
    if (block.start != start) {
      block.start = CheckedMemory::read(start, &block.bytes) ? start : kNothing;
    }
    return block.start == start ? &block : nullptr;
  }

  const StackRange stack_;
  mutable Block blocks_[2];
  mutable uint32_t last_ = 0;
};

}  // namespace memprof::cpython
