// SPDX-License-Identifier: Apache-2.0
// A process whose memory tests make up, word by word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

#include "resident/memory_source.h"

namespace memprof::testing_support {

using resident::MemorySource;
using resident::Pages;

// A process that is made up: words at addresses; all of it is in memory.
class MadeUp {
 public:
  void put(uint64_t address, uint64_t word) { words_[address] = word; }
  uint64_t get(uint64_t address) const {
    const auto found = words_.find(address);
    return found == words_.end() ? 0 : found->second;
  }

  // An arena with empty lists, whose heads begin at `bins`; 112 bytes of its state come before them.
  void add_arena(uint64_t bins) {
    for (uint64_t i = 0; i < 127; ++i) {
      put(bins + 16 * i, bins + 16 * i - 16);
      put(bins + 16 * i + 8, bins + 16 * i - 16);
    }
    put(bins + 2032 + 16, bins - 112);
    put(bins + 2032 + 40, 0x21000);
  }
  void add_chunk(uint64_t bins, uint64_t list, uint64_t address, uint64_t bytes) {
    const uint64_t head = bins + 16 * list - 16;
    const uint64_t first = get(head + 16);
    put(address + 8, bytes | 1);
    put(address + 16, first);
    put(address + 24, head);
    put(first + 24, address);
    put(head + 16, address);
  }

  MemorySource source() {
    return {this,
            [](void* context, uint64_t address, void* bytes, size_t size) {
              auto* const self = static_cast<MadeUp*>(context);
              ++self->reads_;
              for (size_t i = 0; i < size; i += 8) {
                const uint64_t word = self->get(address + i);
                std::memcpy(static_cast<char*>(bytes) + i, &word, std::min<size_t>(8, size - i));
              }
              return address != 0;
            },
            [](void*, Pages, uint64_t start, uint64_t limit) { return limit - start; },
            [](void*, char*, size_t) -> size_t { return 0; }, [](void*) { return true; }};
  }
  uint64_t reads() const { return reads_; }

 private:
  std::map<uint64_t, uint64_t> words_;
  uint64_t reads_ = 0;
};

}  // namespace memprof::testing_support
