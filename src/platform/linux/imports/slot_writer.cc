// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/slot_writer.h"

#include <sys/mman.h>
#include <unistd.h>

#include "platform/linux/memory/mappings.h"
#include "platform/memory.h"

namespace memprof::platform {
namespace {

// More than the kernel lets a process have by default; address space until it is touched.
constexpr size_t kMaxRanges = 80000;
constexpr size_t kBufferBytes = 64 * 1024;

uint64_t page_bytes() {
  static const auto bytes = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
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
  const uint64_t page = address & ~(page_bytes() - 1);
  if (page != open_page_) {
    finish();
    const Range* range = find(address);
    if (range == nullptr || (range->protection & PROT_READ) == 0) {
      return Written::kRefused;
    }
    if ((range->protection & PROT_WRITE) != 0) {
      if (in_relro) {
        return Written::kNotReady;
      }
    } else if (mprotect(reinterpret_cast<void*>(page), page_bytes(), range->protection | PROT_WRITE) == 0) {
      open_page_ = page;
      open_protection_ = range->protection;
    } else {
      return Written::kRefused;
    }
  }
  return __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(address), &expected, value, false,
                                     __ATOMIC_RELEASE, __ATOMIC_RELAXED)
             ? Written::kYes
             : Written::kChanged;
}

void SlotWriter::finish() {
  if (open_page_ != kNoPage) {
    mprotect(reinterpret_cast<void*>(open_page_), page_bytes(), open_protection_);
    open_page_ = kNoPage;
  }
}

}  // namespace memprof::platform
