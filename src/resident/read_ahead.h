// SPDX-License-Identifier: Apache-2.0
// A source of memory (memory_source.h) that reads more than it is asked for, and gives the rest from there: the lists
// of an allocator are words that lie close to each other, and each read of the other source is a system call.
//
// What it gives may be as old as the first read nearby: for who takes memory that changes meanwhile without trust
// anyway.  Allocates: never; one thread's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "resident/memory_source.h"

namespace memprof::resident {

class ReadAhead {
 public:
  // `room`: scratch memory, aligned to 8 bytes, of which it takes as many windows as there are.
  ReadAhead(const MemorySource& source, void* room, size_t room_bytes)
      : source_(source),
        count_(room_bytes / (kWindowBytes + sizeof(uint64_t))),
        starts_(static_cast<uint64_t*>(room)),
        bytes_(static_cast<char*>(room) + count_ * sizeof(uint64_t)) {
    std::fill_n(starts_, count_, kNone);
  }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  MemorySource source() {
    return {this,
            read,
            [](void* context, Pages what, uint64_t start, uint64_t limit) {
              const MemorySource& of = self(context).source_;
              return of.in_memory(of.context, what, start, limit);
            },
            [](void* context, char* text, size_t size_bytes) {
              const MemorySource& of = self(context).source_;
              return of.read_map(of.context, text, size_bytes);
            },
            [](void* context) { return self(context).source_.may_go_on(); },
            [](void* context) { return self(context).source_.used(); },
            source_.page_bytes};
  }

 private:
  static constexpr uint64_t kWindowBytes = 1024;  // never across two pages, of which one may not be readable
  static constexpr uint64_t kNone = ~uint64_t{0};

  static ReadAhead& self(void* context) { return *static_cast<ReadAhead*>(context); }

  static bool read(void* context, uint64_t address, void* bytes, size_t size_bytes) {
    auto* to = static_cast<char*>(bytes);
    if (size_bytes > kWindowBytes) {
      const MemorySource& of = self(context).source_;
      return of.read(of.context, address, bytes, size_bytes);
    }
    while (size_bytes != 0) {
      const uint64_t inside = address % kWindowBytes;
      const size_t part = std::min<size_t>(size_bytes, kWindowBytes - inside);
      const char* const window = self(context).window(address - inside);
      if (window == nullptr) {
        return false;
      }
      std::memcpy(to, window + inside, part);
      to += part;
      address += part;
      size_bytes -= part;
    }
    return true;
  }

  // Null: not all of it can be read.
  const char* window(uint64_t start) {
    const uint64_t slot = start / kWindowBytes % count_;
    char* const bytes = bytes_ + slot * kWindowBytes;
    if (starts_[slot] != start) {
      const bool is_read = source_.read(source_.context, start, bytes, kWindowBytes);
      starts_[slot] = is_read ? start : kNone;
    }
    return starts_[slot] == start ? bytes : nullptr;
  }

  const MemorySource& source_;
  size_t count_;
  uint64_t* starts_;
  char* bytes_;
};

}  // namespace memprof::resident
