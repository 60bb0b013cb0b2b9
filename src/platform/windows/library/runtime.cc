// SPDX-License-Identifier: Apache-2.0
// What the library takes of a C runtime, as it is linked with none.
//
// errno is the thread's last error (GetLastError): the code around real calls keeps it as it keeps errno elsewhere, and no
// other C runtime's errno is touched.
#include <atomic>

#include "platform/thread_slot.h"
#include "platform/windows/process/thread_data.h"
#include "platform/windows/system.h"

namespace {

// What gcc knows of a thread-local variable.  All of the engine's begin as zeros.
struct ThreadVariable {
  size_t size_bytes;
  size_t alignment;
  std::atomic<size_t> end;  // in the memory of each thread; 0: it has no place yet
  const void* initial;
};

std::atomic<size_t> g_thread_variables_end{0};  // relaxed
alignas(16) uint8_t g_shared_variable[256];     // of those that there is no room for

}  // namespace

extern "C" {

int* memprof_errno() __asm__("_errno");
int* memprof_errno() {
  return reinterpret_cast<int*>(memprof::platform::thread_block_word(memprof::platform::kSelf) +
                                memprof::platform::kLastError);
}
// As headers declare it: imported.
int* (*memprof_imported_errno)() __asm__("__imp__errno") = memprof_errno;

size_t strnlen(const char* text, size_t size_bytes) {
  size_t length = 0;
  while (length < size_bytes && text[length] != '\0') {
    ++length;
  }
  return length;
}

// Where gcc finds a thread-local variable: behind the sampler's state, without an allocation.
void* __emutls_get_address(ThreadVariable* variable) {
  using namespace memprof::platform;
  size_t end = variable->end.load(std::memory_order_relaxed);
  if (end == 0) {
    const size_t room = (variable->size_bytes + 15) & ~size_t{15};
    const size_t made = g_thread_variables_end.fetch_add(room, std::memory_order_relaxed) + room;
    // Where another thread was first, this place stays unused.
    end = variable->end.compare_exchange_strong(end, made, std::memory_order_relaxed) ? made : end;
  }
  const size_t start = end - ((variable->size_bytes + 15) & ~size_t{15});
  return end <= kThreadVariableBytes ? static_cast<uint8_t*>(thread_data()) + kThreadDataBytes + start
                                     : g_shared_variable;
}

// Of snapshots, which programs ask for.
void* malloc(size_t size_bytes) {
  return HeapAlloc(GetProcessHeap(), 0, size_bytes);
}
void* realloc(void* block, size_t size_bytes) {
  return block == nullptr ? malloc(size_bytes) : HeapReAlloc(GetProcessHeap(), 0, block, size_bytes);
}
void free(void* block) {
  HeapFree(GetProcessHeap(), 0, block);
}

}  // extern "C"
