// SPDX-License-Identifier: Apache-2.0
// Two ways to read an interpreter's structures.
//
// A thread that allocates is inside the interpreter at a place where its own frames are whole: they are read
// as they stand (DirectMemory).  A signal handler may have come in between two stores, and before the layout
// was seen to be right nothing is known: then every read goes through the system (CheckedMemory).
//
// Threads, signals: no state.
// Allocates: never.
// Failure: false.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/platform.h"

namespace memprof::cpython {

// Not a small number, and an address that a program can have.
inline bool is_plausible(uint64_t address) {
  constexpr uint64_t kLeast = 4096;
  constexpr uint64_t kLimit = uint64_t{1} << 47;
  return address - kLeast < kLimit - kLeast;
}

struct DirectMemory {
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

}  // namespace memprof::cpython
