// SPDX-License-Identifier: Apache-2.0
// Pages of the process that are resident, by QueryWorkingSetEx.  Areas are not listed: whose memory is which is not known.
#include "platform/memory_areas.h"

#include <algorithm>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kAskedPages = 512;  // of a question

}  // namespace

bool each_memory_area(void (*)(const MemoryArea&, void*), void*) {
  return false;
}

MemoryPart holder_of(const MemoryArea&, uint64_t, uint64_t limit, uint64_t* end) {
  *end = limit;
  return MemoryPart::kUnseen;
}

uint64_t resident_bytes_in(uint64_t start, uint64_t limit) {
  static PSAPI_WORKING_SET_EX_INFORMATION pages[kAskedPages];  // of the one caller
  const DWORD error = GetLastError();
  uint64_t resident_bytes = 0;
  for (uint64_t at = start; at < limit;) {
    const uint64_t count = std::min<uint64_t>(kAskedPages, (limit - at + kSmallestPage - 1) / kSmallestPage);
    for (uint64_t i = 0; i < count; ++i, at += kSmallestPage) {
      pages[i] = {};
      pages[i].VirtualAddress = reinterpret_cast<void*>(at);
    }
    if (!K32QueryWorkingSetEx(GetCurrentProcess(), pages, static_cast<DWORD>(count * sizeof(pages[0])))) {
      continue;
    }
    for (uint64_t i = 0; i < count; ++i) {
      resident_bytes += pages[i].VirtualAttributes.Valid * kSmallestPage;
    }
  }
  SetLastError(error);
  return resident_bytes;
}

bool counts_without_areas() {
  return true;
}

uint64_t page_bytes() {
  return kSmallestPage;
}

}  // namespace memprof::platform
