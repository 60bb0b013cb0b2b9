// SPDX-License-Identifier: Apache-2.0
// What the rooms here ask of the process that they look at, as functions: so that they look at this process, at
// another one, and in tests at one that is made up.
//
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::resident {

enum class Pages : uint8_t { kPrivate, kFile };

struct MemorySource {
  void* context = nullptr;
  // All of [address, address + size_bytes), or false.
  bool (*read)(void* context, uint64_t address, void* bytes, size_t size_bytes) = nullptr;
  // How many bytes of the pages that [start, limit) touches are in memory.
  uint64_t (*in_memory)(void* context, Pages what, uint64_t start, uint64_t limit) = nullptr;
  // The next bytes of the text of the map; 0: its end.
  size_t (*read_map)(void* context, char* text, size_t size_bytes) = nullptr;
  // Whether there is time for more.
  bool (*has_time)(void* context) = nullptr;
  // How much of the time is over, in percent; nullptr: only has_time knows.
  unsigned (*used_percent)(void* context) = nullptr;
  // Of the system that the process runs on: a power of two, at least 4096.
  uint64_t page_bytes = 4096;

  uint64_t page_of(uint64_t address) const { return address & ~(page_bytes - 1); }
  uint64_t page_behind(uint64_t address) const { return page_of(address + page_bytes - 1); }

  template <typename T>
  bool load(uint64_t address, T* value) const {
    return read(context, address, value, sizeof(T));
  }
  // In pieces while there is time: sanitizers, race detectors and others reserve terabytes.
  uint64_t count(Pages what, uint64_t start, uint64_t limit) const {
    constexpr uint64_t kPieceBytes = uint64_t{1} << 36;
    uint64_t bytes = 0;
    for (; start < limit && limit - start > kPieceBytes && may_go_on(); start += kPieceBytes) {
      bytes += in_memory(context, what, start, start + kPieceBytes);
    }
    return start < limit && limit - start <= kPieceBytes ? bytes + in_memory(context, what, start, limit)
                                                         : bytes;
  }
  bool may_go_on() const { return has_time(context); }
  // The same for what may take the time only until so much of it is over: others come after it.
  bool may_go_on_until(unsigned percent) const { return may_go_on() && used() < percent; }
  unsigned used() const { return used_percent != nullptr ? used_percent(context) : 0; }
};

}  // namespace memprof::resident
