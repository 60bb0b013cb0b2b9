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
