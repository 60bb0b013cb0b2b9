// SPDX-License-Identifier: Apache-2.0
// The memory that a walk may read: the stack that the thread is running on, and nothing else.
//
// Threads, signals, fork: a plain value.
// Allocates: never.
#pragma once

#include <cstdint>
#include <cstring>

namespace memprof::unwind {

struct StackBounds {
  uint64_t low;  // readable: low <= address < high
  uint64_t high;
  // One more step that is readable above `high`, or `high` itself; nullptr: `high` is the end of the stack.
  uint64_t (*grow)(uint64_t high) = nullptr;
};

class StackMemory {
 public:
  explicit StackMemory(const StackBounds& bounds) : bounds_(bounds) {}

  // May [address, address + 8) be read?
  bool contains(uint64_t address) {
    while (address < bounds_.low || bounds_.high < sizeof(uint64_t) ||
           address > bounds_.high - sizeof(uint64_t)) {
      if (address < bounds_.low || bounds_.grow == nullptr) {
        return false;
      }
      const uint64_t high = bounds_.grow(bounds_.high);
      if (high == bounds_.high) {
        bounds_.grow = nullptr;
        return false;
      }
      bounds_.high = high;
    }
    return true;
  }

  bool read(uint64_t address, uint64_t* value) {
    if (!contains(address)) {
      return false;
    }
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): it is on the stack
    memcpy(value, reinterpret_cast<const void*>(address), sizeof(*value));
    return true;
  }

  // Is `high` the end of the stack, not just the end of what was asked for so far?
  bool is_whole() const { return bounds_.grow == nullptr; }
  uint64_t low() const { return bounds_.low; }
  uint64_t high() const { return bounds_.high; }

 private:
  StackBounds bounds_;
};

}  // namespace memprof::unwind
