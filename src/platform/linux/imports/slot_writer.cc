// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/slot_writer.h"

#include <sys/auxv.h>
#include <sys/mman.h>

#include "platform/linux/memory/mappings.h"
#include "platform/memory.h"

namespace memprof::platform {
namespace {

// More than the kernel lets a process have by default; address space until it is touched.
constexpr size_t kMaxRanges = 80000;
constexpr size_t kBufferBytes = 64 * 1024;
constexpr uint64_t kMaxWhole = uint64_t{1} << 20;  // larger ranges are opened by pages

uint64_t page_bytes() {
  static const auto bytes = uint64_t{getauxval(AT_PAGESZ)};
  return bytes;
}

}  // namespace

SlotWriter::~SlotWriter() {
  finish();
  if (ranges_ != nullptr) {
    release_pages(ranges_, kMaxRanges * sizeof(Range));
  }
}

void SlotWriter::read_ranges() {
  was_read_ = true;
  ranges_ = static_cast<Range*>(reserve_pages(kMaxRanges * sizeof(Range)));
  char* buffer = static_cast<char*>(reserve_pages(kBufferBytes));
  if (ranges_ != nullptr && buffer != nullptr) {
    MappingReader reader(maps_, buffer, kBufferBytes);
    Mapping m;
    while (range_count_ < kMaxRanges && reader.next(&m)) {
      ranges_[range_count_++] = {m.start, m.limit,
                                 (m.is_readable ? PROT_READ : 0) | (m.is_writable ? PROT_WRITE : 0) |
                                     (m.is_executable ? PROT_EXEC : 0)};
    }
  }
  if (buffer != nullptr) {
    release_pages(buffer, kBufferBytes);
  }
}

// They are in order.
const SlotWriter::Range* SlotWriter::find(uint64_t address) const {
  size_t low = 0;
  size_t high = range_count_;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (ranges_[middle].limit <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < range_count_ && ranges_[low].start <= address ? &ranges_[low] : nullptr;
}

Written SlotWriter::write(uint64_t address, uint64_t expected, uint64_t value, bool in_relro) {
  if (!was_read_) {
    read_ranges();
  }
  if (address - open_.start >= open_.limit - open_.start) {
    finish();
    const Range* range = find(address);
    if (range == nullptr || (range->protection & PROT_READ) == 0) {
      return Written::kRefused;
    }
    if ((range->protection & PROT_WRITE) != 0) {
      if (in_relro) {
        return Written::kNotReady;
      }
    } else {
      const uint64_t page = address & ~(page_bytes() - 1);
      const bool is_whole = range->limit - range->start <= kMaxWhole;
      const Range to_open = is_whole ? *range : Range{page, page + page_bytes(), range->protection};
      if (mprotect(reinterpret_cast<void*>(to_open.start), to_open.limit - to_open.start,
                   range->protection | PROT_WRITE) != 0) {
        return Written::kRefused;
      }
      open_ = to_open;
    }
  }
  return __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(address), &expected, value, false,
                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED)
             ? Written::kYes
             : Written::kChanged;
}

void SlotWriter::finish() {
  if (open_.limit != open_.start) {
    mprotect(reinterpret_cast<void*>(open_.start), open_.limit - open_.start, open_.protection);
    open_ = {};
  }
}

}  // namespace memprof::platform
