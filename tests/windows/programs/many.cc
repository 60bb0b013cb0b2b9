// SPDX-License-Identifier: Apache-2.0
// Allocates 100 MB in blocks of many sizes by 4 threads, keeps a third of it, and says how much that is; then as much by realloc
// to blocks that move, for which the heap calls itself.
#include <windows.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

extern "C" __attribute__((noinline)) void* by_many(size_t size) {
  void* block = std::malloc(size);
  asm volatile("" ::: "memory");
  return block;
}

extern "C" __attribute__((noinline)) void* by_moving(void* block, size_t size) {
  void* moved = std::realloc(block, size);
  asm volatile("" ::: "memory");
  return moved;
}

namespace {

std::atomic<size_t> g_live{0};
std::atomic<size_t> g_allocated{0};

DWORD WINAPI run_thread(void* moves) {
  unsigned state = 12345;
  size_t live = 0;
  size_t allocated = 0;
  while (allocated < 25'000'000) {
    state = state * 1664525 + 1013904223;
    const size_t size = 1 + (state >> 8) % (((state >> 4) & 7) == 0 ? 20000 : 400);
    void* block = moves != nullptr ? by_moving(std::malloc(1), size) : by_many(size);
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
  for (const char* name : {"by_many", "by_moving"}) {
    g_live = g_allocated = 0;
    HANDLE threads[4];
    for (HANDLE& thread : threads) {
      thread = CreateThread(nullptr, 0, run_thread, name[3] == 'm' && name[4] == 'o' ? &g_live : nullptr, 0,
                            nullptr);
    }
    WaitForMultipleObjects(4, threads, TRUE, INFINITE);
    std::printf("%s %zu %zu\n", name, g_live.load(), g_allocated.load());
  }
  return 0;
}
