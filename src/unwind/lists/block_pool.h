// SPDX-License-Identifier: Apache-2.0
// Memory for tables of any size that come and go: blocks of powers of two out of pages of its own.
//
// Threads: one at a time.  fork: reset_in_child where another thread was inside.
// Allocates: pages; blocks up to kMaxPooled are used again and never given back to the system, larger ones
// are.
// Failure: nullptr without memory, and above kMaxBytes of blocks that are in use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform/memory.h"

namespace memprof::unwind {

class BlockPool {
 public:
  static constexpr size_t kMaxBytes = size_t{256} << 20;
  static constexpr size_t kMaxPooled = 1 << 22;

  // In front of each block.
  struct Header {
    size_t size_bytes;  // with this
    Header* next;       // for the owner's lists, and for ours
  };

  // Aligned to 16 bytes; what is in it is undefined.
  void* take(size_t size_bytes) {
    if (size_bytes > kMaxBytes - sizeof(Header)) {
      return nullptr;
    }
    const uint32_t n = class_of(size_bytes + sizeof(Header));
    const size_t whole = kMin << n;
    if (whole > kMaxBytes - used_bytes_) {
      return nullptr;
    }
    Header* block = nullptr;
    if (whole > kMaxPooled) {
      block = static_cast<Header*>(platform::reserve_pages(whole));
    } else if (free_[n] != nullptr) {
      block = free_[n];
      free_[n] = block->next;
    } else {
      block = cut(whole);
    }
    if (block == nullptr) {
      return nullptr;
    }
    block->size_bytes = whole;
    used_bytes_ += whole;
    return block + 1;
  }

  void give(Header* block) {
    used_bytes_ -= block->size_bytes;
    if (block->size_bytes > kMaxPooled) {
      platform::release_pages(block, block->size_bytes);
      return;
    }
    const uint32_t n = class_of(block->size_bytes);
    block->next = free_[n];
    free_[n] = block;
  }

  static Header* header_of(void* block) { return static_cast<Header*>(block) - 1; }
  size_t used_bytes() const { return used_bytes_; }

  // What was free is lost, what is in use stays valid.
  void reset_in_child() {
    for (Header*& list : free_) {
      list = nullptr;
    }
    next_ = end_ = nullptr;
  }

 private:
  static constexpr size_t kMin = 256;
  static constexpr size_t kChunkBytes = 1 << 18;
  static constexpr uint32_t kClasses = 15;  // 256 bytes to kMaxPooled
  static_assert(kMin << (kClasses - 1) == kMaxPooled);

  static uint32_t class_of(size_t whole) {
    uint32_t n = 0;
    while (kMin << n < whole) {
      ++n;
    }
    return n;
  }

  // The rest of a chunk that is too small is lost, once for each chunk.
  Header* cut(size_t whole) {
    if (whole > kChunkBytes / 4) {
      return static_cast<Header*>(platform::reserve_pages(whole));
    }
    if (static_cast<size_t>(end_ - next_) < whole) {
      void* chunk = platform::reserve_pages(kChunkBytes);
      if (chunk == nullptr) {
        return nullptr;
      }
      next_ = static_cast<char*>(chunk);
      end_ = next_ + kChunkBytes;
    }
    void* block = next_;
    next_ += whole;
    return static_cast<Header*>(block);
  }

  Header* free_[kClasses] = {};
  char* next_ = nullptr;
  char* end_ = nullptr;
  size_t used_bytes_ = 0;
};

}  // namespace memprof::unwind
