// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/memory/mapping_calls.h"

#include "platform/memory_areas.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

// Of VirtualAlloc2 and VirtualFree, which older headers lack.
constexpr uint32_t kReplacesPlaceholder = 0x4000;
constexpr uint32_t kJoinsPlaceholders = 0x1;

uint64_t page_below(uint64_t address) {
  return address & ~(kSmallestPage - 1);
}

MemoryChange change_of_pages(MemoryChange::Kind kind, uint64_t start, uint64_t limit) {
  return {kind, start, page_below(limit + kSmallestPage - 1) - start};
}

}  // namespace

// Where a region is made, `got` is its beginning, below `asked` by less than 64 KiB; it ends where was asked for.
MemoryChange change_of_allocation(uint64_t got, uint64_t asked, uint64_t size_bytes, uint32_t type) {
  using Kind = MemoryChange::Kind;
  const bool is_new = asked == 0 || (type & (MEM_RESERVE | kReplacesPlaceholder)) != 0;
  const bool is_committed = (type & MEM_COMMIT) != 0;
  if (!is_new && !is_committed) {
    return {};  // MEM_RESET and its like
  }
  const Kind kind = !is_committed ? Kind::kGone : is_new ? Kind::kFresh : Kind::kCommitted;
  return change_of_pages(kind, page_below(got), (asked == 0 ? got : asked) + size_bytes);
}

bool is_of_region(uint64_t size_bytes, uint32_t type) {
  return size_bytes == 0 && (type & (MEM_RELEASE | MEM_DECOMMIT)) != 0;
}

MemoryChange change_of_free(uint64_t address, uint64_t size_bytes, uint32_t type, uint64_t region_bytes) {
  if ((type & (MEM_RELEASE | MEM_DECOMMIT)) == 0 || (type & kJoinsPlaceholders) != 0) {
    return {};
  }
  return change_of_pages(MemoryChange::Kind::kGone, page_below(address),
                         address + (is_of_region(size_bytes, type) ? region_bytes : size_bytes));
}

}  // namespace memprof::platform
