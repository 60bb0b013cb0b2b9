// SPDX-License-Identifier: Apache-2.0
// Memory that may not be there, and figures of the process (platform/memory.h).  What is resident by areas is not looked at
// yet: those answers are the reference's.
#include "platform/memory.h"

#include "platform/windows/system.h"

namespace memprof::platform {

uint64_t address_space_limit() {
  return UINT64_MAX;
}
uint64_t memory_limit() {
  return UINT64_MAX;
}
bool has_address_space(size_t) {
  return true;
}

bool read_memory(uint64_t address, void* bytes, size_t size_bytes) {
  SIZE_T got = 0;
  return ReadProcessMemory(GetCurrentProcess(), reinterpret_cast<const void*>(address), bytes, size_bytes,
                           &got) &&
         got == size_bytes;
}

// Up to the end of each page at once.
bool copy_text(const char* text, char* copy, size_t size_bytes) {
  constexpr uint64_t kPage = 4096;
  for (size_t done = 0; done + 1 < size_bytes;) {
    const uint64_t at = address_of(text) + done;
    const uint64_t left = size_bytes - 1 - done;
    const uint64_t in_page = kPage - at % kPage;
    const size_t part = in_page < left ? in_page : left;
    if (!read_memory(at, copy + done, part)) {
      return false;
    }
    for (size_t i = 0; i < part; ++i) {
      if (copy[done + i] == '\0') {
        return true;
      }
    }
    done += part;
  }
  if (size_bytes != 0) {
    copy[size_bytes - 1] = '\0';
  }
  return true;
}

uint64_t resident_bytes(uint64_t* max, uint64_t* files) {
  PROCESS_MEMORY_COUNTERS_EX counters{};
  counters.cb = sizeof(counters);
  const DWORD error = GetLastError();
  const bool is_known = K32GetProcessMemoryInfo(
      GetCurrentProcess(), reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&counters), sizeof(counters));
  SetLastError(error);
  *max = is_known ? counters.PeakWorkingSetSize : 0;
  if (files != nullptr) {
    *files = 0;
  }
  return is_known ? counters.WorkingSetSize : 0;
}

}  // namespace memprof::platform
