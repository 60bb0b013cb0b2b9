// SPDX-License-Identifier: Apache-2.0
// How far a section of .eh_frame reaches that somebody registers: read where the program has it, without trust.
#include <algorithm>
#include <cstring>

#include "platform/memory.h"
#include "unwind/tables/registered.h"
#include "unwind/tables/registers.h"

namespace memprof::unwind {
namespace {

constexpr uint64_t kPage = 4096;

// Memory of others, a piece of a page at a time.
class CheckedPages {
 public:
  // The word at `address`; false: it cannot be read.
  bool read(uint64_t address, void* value, size_t size_bytes) {
    auto* out = static_cast<char*>(value);
    while (size_bytes != 0) {
      if (address - start_ >= size_bytes_ && !fill(address)) {
        return false;
      }
      const uint64_t here = std::min<uint64_t>(size_bytes, start_ + size_bytes_ - address);
      memcpy(out, page_ + (address - start_), here);
      out += here;
      address += here;
      size_bytes -= here;
    }
    return true;
  }

 private:
  bool fill(uint64_t address) {
    start_ = address;
    size_bytes_ = kPage - address % kPage;
    if (address > kAddressEnd || !platform::read_memory(address, page_, size_bytes_)) {
      size_bytes_ = 0;
    }
    return size_bytes_ != 0;
  }

  uint64_t start_ = 0;
  uint64_t size_bytes_ = 0;
  char page_[kPage];
};

}  // namespace

[[gnu::noinline]] RegisteredTables::Extent RegisteredTables::measure(uint64_t begin) {
  CheckedPages pages;
  Extent extent{};
  for (;;) {
    const uint64_t at = begin + extent.size_bytes;
    uint32_t length;
    uint64_t whole = sizeof(length);
    if (!pages.read(at, &length, sizeof(length)) || length == 0) {
      return extent;
    }
    uint64_t content = length;
    if (length == UINT32_MAX) {
      if (!pages.read(at + sizeof(length), &content, sizeof(content))) {
        return extent;
      }
      whole += sizeof(content);
    }
    if (content > RegisteredTables::kMaxSectionBytes - extent.size_bytes - whole) {
      return extent;
    }
    // Its last byte has to be there, too.
    char last;
    whole += content;
    if (!pages.read(at + whole - 1, &last, 1)) {
      return extent;
    }
    extent.size_bytes += whole;
    ++extent.entries;
    if (extent.size_bytes > RegisteredTables::kMaxSectionBytes - 2 * sizeof(uint64_t)) {
      return extent;
    }
  }
}

}  // namespace memprof::unwind
