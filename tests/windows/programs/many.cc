// SPDX-License-Identifier: Apache-2.0
// Allocates 100 MB in blocks of many sizes by 4 threads, keeps a third of it, and says how much that is.
#include <windows.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

extern "C" __attribute__((noinline)) void* by_many(size_t size) {
  void* block = std::malloc(size);
  asm volatile("" ::: "memory");
  return block;
}

namespace {

std::atomic<size_t> g_live{0};
std::atomic<size_t> g_allocated{0};

DWORD WINAPI run_thread(void*) {
  unsigned state = 12345;
  size_t live = 0;
  size_t allocated = 0;
  while (allocated < 25'000'000) {
    state = state * 1664525 + 1013904223;
    const size_t size = 1 + (state >> 8) % (((state >> 4) & 7) == 0 ? 20000 : 400);
    void* block = by_many(size);
    allocated += size;
    if ((state >> 24) % 3 == 0) {
      live += size;
    } else {
      std::free(block);
    }
  }
  g_live += live;
  g_allocated += allocated;
  return 0;
}

}  // namespace

int main() {
  HANDLE threads[4];
  for (HANDLE& thread : threads) thread = CreateThread(nullptr, 0, run_thread, nullptr, 0, nullptr);
  WaitForMultipleObjects(4, threads, TRUE, INFINITE);
  std::printf("by_many %zu %zu\n", g_live.load(), g_allocated.load());
  return 0;
}
