// SPDX-License-Identifier: Apache-2.0
// Puts the hooks in and takes them out again, as often as its first argument says, while 8 threads allocate and another one
// loads and unloads a DLL.  Blocks are filled and looked at: what the heap gave must be theirs.
#include <windows.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Call = int (*)();
constexpr int kThreads = 8;
std::atomic<bool> g_ends{false};
std::atomic<long> g_calls{0};
std::atomic<long> g_loads{0};
std::atomic<bool> g_is_wrong{false};

DWORD WINAPI allocate(void* seed) {
  constexpr size_t kKept = 64;
  unsigned char* kept[kKept] = {};
  size_t sizes[kKept] = {};
  auto state = reinterpret_cast<size_t>(seed) * 2654435761u + 1;
  long calls = 0;
  const HANDLE heap = GetProcessHeap();
  while (!g_ends.load(std::memory_order_relaxed)) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const size_t at = (state >> 33) % kKept;
    const size_t size = 8 + (state >> 40) % 5000;
    if (kept[at] != nullptr && kept[at][sizes[at] - 1] != at) g_is_wrong = true;
    if (kept[at] != nullptr && state % 3 == 0) {
      kept[at] = static_cast<unsigned char*>(HeapReAlloc(heap, 0, kept[at], size));
    } else {
      HeapFree(heap, 0, kept[at]);
      kept[at] = static_cast<unsigned char*>(HeapAlloc(heap, 0, size));
    }
    memset(kept[at], static_cast<int>(at), size);
    sizes[at] = size;
    ++calls;
  }
  for (unsigned char* block : kept) HeapFree(heap, 0, block);
  g_calls += calls;
  return 0;
}

DWORD WINAPI load(void*) {
  while (!g_ends.load(std::memory_order_relaxed)) {
    const HMODULE library = LoadLibraryW(L"cabinet.dll");
    if (library == nullptr) g_is_wrong = true;
    FreeLibrary(library);
    ++g_loads;
  }
  return 0;
}

}  // namespace

int main(int count, char** values) {
  const int rounds = count > 1 ? std::atoi(values[1]) : 100;
  const HMODULE library = LoadLibraryW(L"memprof.dll");
  const auto hook =
      reinterpret_cast<Call>(reinterpret_cast<void*>(GetProcAddress(library, "memprof_windows_hook")));
  const auto unhook =
      reinterpret_cast<Call>(reinterpret_cast<void*>(GetProcAddress(library, "memprof_windows_unhook")));
  if (hook == nullptr || unhook == nullptr) return 1;
  const auto* code = reinterpret_cast<const unsigned char*>(
      reinterpret_cast<const void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlAllocateHeap")));
  unsigned char before[32];
  memcpy(before, code, sizeof(before));
  HANDLE threads[kThreads + 1];
  for (int i = 0; i < kThreads; ++i) {
    threads[i] =
        CreateThread(nullptr, 0, allocate, reinterpret_cast<void*>(static_cast<size_t>(i)), 0, nullptr);
  }
  threads[kThreads] = CreateThread(nullptr, 0, load, nullptr, 0, nullptr);
  int hooked = 0;
  int undone = 0;
  for (int i = 0; i < rounds; ++i) {
    hooked += hook() != 0 && memcmp(before, code, sizeof(before)) != 0;
    Sleep(i % 4 == 0 ? 1 : 0);
    undone += unhook() != 0 && memcmp(before, code, sizeof(before)) == 0;
  }
  g_ends = true;
  WaitForMultipleObjects(kThreads + 1, threads, TRUE, INFINITE);
  std::printf("hooked %d, undone %d of %d; %s\n", hooked, undone, rounds,
              g_is_wrong ? "blocks are wrong" : "all blocks are right");
  std::fprintf(stderr, "%ld calls, %ld loads\n", g_calls.load(), g_loads.load());
  return hooked == rounds && undone == rounds && !g_is_wrong ? 0 : 1;
}
