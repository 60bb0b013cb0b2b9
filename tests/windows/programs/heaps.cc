// SPDX-License-Identifier: Apache-2.0
// Allocates known blocks in functions of known names by each way that ends in ntdll's heaps, and says on standard output
// what a profile of every allocation has to say of each:  NAME live-blocks live-bytes allocated-blocks allocated-bytes
// It takes part of them back again, in another way for each name.
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <new>

#define ALLOCATES extern "C" __attribute__((noinline))
#define NO_TAIL_CALL asm volatile("" ::: "memory")

namespace {

constexpr int kBlocks = 1000;
void* g_blocks[8 * kBlocks];

void say(const char* name, int live, size_t live_bytes, int allocated, size_t allocated_bytes) {
  std::printf("%s %d %zu %d %zu\n", name, live, live_bytes, allocated, allocated_bytes);
}

}  // namespace

ALLOCATES void* by_heap(HANDLE heap, size_t size) {
  void* block = HeapAlloc(heap, 0, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_malloc(size_t size) {
  void* block = std::malloc(size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_calloc(size_t size) {
  void* block = std::calloc(4, size / 4);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_new(size_t size) {
  void* block = ::operator new(size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_local(size_t size) {
  void* block = LocalAlloc(LMEM_FIXED, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_realloc(void* block, size_t size) {
  void* moved = std::realloc(block, size);
  NO_TAIL_CALL;
  return moved;
}
ALLOCATES void* by_heap_realloc(HANDLE heap, void* block, size_t size) {
  void* moved = HeapReAlloc(heap, HEAP_ZERO_MEMORY, block, size);
  NO_TAIL_CALL;
  return moved;
}
ALLOCATES void* in_place(HANDLE heap, void* block, size_t size) {
  void* same = HeapReAlloc(heap, HEAP_REALLOC_IN_PLACE_ONLY, block, size);
  NO_TAIL_CALL;
  return same;
}
ALLOCATES void* by_private_heap(HANDLE heap, size_t size) {
  void* block = HeapAlloc(heap, 0, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_kept_heap(HANDLE heap, size_t size) {
  void* block = HeapAlloc(heap, 0, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_thread(size_t size) {
  void* block = std::malloc(size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* refused(HANDLE heap) {
  void* block = HeapAlloc(heap, 0, SIZE_MAX / 2);
  NO_TAIL_CALL;
  return block;
}

namespace {

DWORD WINAPI run_thread(void* first) {
  auto** blocks = static_cast<void**>(first);
  for (int i = 0; i < kBlocks; ++i) blocks[i] = by_thread(48);
  for (int i = 0; i < kBlocks; i += 4) std::free(blocks[i]);
  return 0;
}

void plain() {
  const HANDLE heap = GetProcessHeap();
  for (int i = 0; i < kBlocks; ++i) g_blocks[i] = by_heap(heap, 100);
  for (int i = 0; i < kBlocks / 2; ++i) HeapFree(heap, 0, g_blocks[i]);
  say("by_heap", kBlocks / 2, kBlocks / 2 * 100, kBlocks, kBlocks * 100);
  for (int i = 0; i < kBlocks; ++i) g_blocks[i] = by_malloc(64);
  for (int i = 0; i < kBlocks; ++i) std::free(g_blocks[i]);
  say("by_malloc", 0, 0, kBlocks, kBlocks * 64);
  for (int i = 0; i < kBlocks; ++i) g_blocks[i] = by_calloc(200);
  say("by_calloc", kBlocks, kBlocks * 200, kBlocks, kBlocks * 200);
  for (int i = 0; i < kBlocks; ++i) g_blocks[i] = by_new(24);
  for (int i = 0; i < kBlocks; i += 10) ::operator delete(g_blocks[i]);
  say("by_new", kBlocks / 10 * 9, kBlocks / 10 * 9 * 24, kBlocks, kBlocks * 24);
  for (int i = 0; i < kBlocks; ++i) g_blocks[i] = by_local(40);
  for (int i = 0; i < kBlocks / 4; ++i) LocalFree(g_blocks[i]);
  say("by_local", kBlocks / 4 * 3, kBlocks / 4 * 3 * 40, kBlocks, kBlocks * 40);
}

void reallocated() {
  const HANDLE heap = GetProcessHeap();
  for (int i = 0; i < kBlocks; ++i) g_blocks[i] = by_realloc(std::malloc(10), 5000);
  say("by_realloc", kBlocks, kBlocks * 5000, kBlocks, kBlocks * 5000);
  for (int i = 0; i < kBlocks; ++i) g_blocks[i] = by_heap_realloc(heap, HeapAlloc(heap, 0, 300), 3000);
  for (int i = 0; i < kBlocks; i += 2) HeapFree(heap, 0, g_blocks[i]);
  say("by_heap_realloc", kBlocks / 2, kBlocks / 2 * 3000, kBlocks, kBlocks * 3000);
  // What is refused leaves the block as it was.
  int done = 0;
  for (int i = 0; i < kBlocks; ++i) {
    void* block = HeapAlloc(heap, 0, 64);
    done += in_place(heap, block, i % 2 != 0 ? 32 : SIZE_MAX / 4) != nullptr;
  }
  say("in_place", done, static_cast<size_t>(done) * 32, done, static_cast<size_t>(done) * 32);
  for (int i = 0; i < 10; ++i) refused(heap);
  say("refused", 0, 0, 0, 0);
}

void private_heaps() {
  for (int round = 0; round < 10; ++round) {
    const HANDLE heap = HeapCreate(round % 2 != 0 ? HEAP_NO_SERIALIZE : 0, 0, 0);
    for (int i = 0; i < kBlocks / 10; ++i) by_private_heap(heap, 4000);
    by_private_heap(heap, 1 << 20);
    HeapDestroy(heap);
  }
  say("by_private_heap", 0, 0, kBlocks + 10, kBlocks * 4000 + 10 * (1 << 20));
  // At the addresses of those that are gone.
  const HANDLE heap = HeapCreate(0, 0, 0);
  for (int i = 0; i < kBlocks; ++i) by_kept_heap(heap, 4000);
  HeapDestroy(HeapCreate(0, 0, 0));
  say("by_kept_heap", kBlocks, kBlocks * 4000, kBlocks, kBlocks * 4000);
}

void threads() {
  constexpr int kThreads = 8;
  HANDLE running[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    running[i] = CreateThread(nullptr, 0, run_thread, g_blocks + i * kBlocks, 0, nullptr);
  }
  WaitForMultipleObjects(kThreads, running, TRUE, INFINITE);
  constexpr int kLive = kThreads * kBlocks / 4 * 3;
  say("by_thread", kLive, size_t{kLive} * 48, kThreads * kBlocks, size_t{kThreads} * kBlocks * 48);
}

}  // namespace

int main(int count, char** values) {
  plain();
  reallocated();
  private_heaps();
  threads();
  std::fflush(stdout);
  std::fprintf(stderr, "%d arguments, the last is %s\n", count - 1, values[count - 1]);
  if (count > 1 && values[1][0] == 'k') TerminateProcess(GetCurrentProcess(), 5);
  return 42;
}
