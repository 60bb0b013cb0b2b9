// SPDX-License-Identifier: Apache-2.0
// Puts the hooks in and takes them out again, as often as its first argument says, while 8 threads allocate, and map and unmap
// memory, and another one loads and unloads a DLL.  Blocks are filled and looked at: what the heap gave must be theirs.
// With a second argument hooks stay, and profiling is stopped and started.
#include <windows.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using Call = int (*)();
constexpr int kThreads = 8;
constexpr size_t kCodeBytes = 32;
constexpr size_t kMappedBytes = 256 << 10;
constexpr long kCallsPerMapping = 50;
std::atomic<bool> g_ends{false};
std::atomic<long> g_calls{0};
std::atomic<long> g_loads{0};
std::atomic<long> g_mapped{0};
std::atomic<bool> g_is_wrong{false};

// Reserved and committed in two steps or at once, or a view of a section; a part of it is taken away first, or not.
void map(HANDLE section, size_t state) {
  const DWORD type = state >> 40 & 1 ? MEM_RESERVE | MEM_COMMIT : MEM_RESERVE;
  const bool is_view = (state >> 41 & 3) == 0;
  auto* bytes =
      static_cast<unsigned char*>(is_view ? MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 0)
                                          : VirtualAlloc(nullptr, kMappedBytes, type, PAGE_READWRITE));
  if (bytes == nullptr ||
      (!is_view && VirtualAlloc(bytes + 4096, 8192, MEM_COMMIT, PAGE_READWRITE) == nullptr)) {
    g_is_wrong = true;
    return;
  }
  bytes[8192] = 1;
  if (!is_view && (state >> 43 & 1) != 0 && !VirtualFree(bytes + 4096, 4096, MEM_DECOMMIT)) g_is_wrong = true;
  if (!(is_view ? UnmapViewOfFile(bytes) : VirtualFree(bytes, 0, MEM_RELEASE))) g_is_wrong = true;
}

DWORD WINAPI allocate(void* seed) {
  constexpr size_t kKept = 64;
  unsigned char* kept[kKept] = {};
  size_t sizes[kKept] = {};
  auto state = reinterpret_cast<size_t>(seed) * 2654435761u + 1;
  long calls = 0;
  long mappings = 0;
  const HANDLE section =
      CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE, 0, kMappedBytes, nullptr);
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
    if (++calls % kCallsPerMapping == 0) {
      map(section, state);
      ++mappings;
    }
  }
  for (unsigned char* block : kept) HeapFree(heap, 0, block);
  CloseHandle(section);
  g_calls += calls;
  g_mapped += mappings;
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

const unsigned char* code_of(const wchar_t* module, const char* name) {
  return reinterpret_cast<const unsigned char*>(
      reinterpret_cast<const void*>(GetProcAddress(GetModuleHandleW(module), name)));
}

}  // namespace

int main(int count, char** values) {
  const int rounds = count > 1 ? std::atoi(values[1]) : 100;
  const HMODULE library = LoadLibraryW(L"memprof.dll");
  const auto function = [library](const char* name) {
    return reinterpret_cast<Call>(reinterpret_cast<void*>(GetProcAddress(library, name)));
  };
  const bool is_profiled = count > 2;
  const auto hook = function("memprof_windows_hook");
  const auto unhook = function("memprof_windows_unhook");
  const auto start = function("memprof_start");
  const auto stop = function("memprof_stop");
  if (hook == nullptr || unhook == nullptr || start == nullptr || stop == nullptr) return 1;
  if (!is_profiled) unhook();
  const unsigned char* const codes[] = {code_of(L"ntdll.dll", "RtlAllocateHeap"),
                                        code_of(L"kernelbase.dll", "VirtualAlloc"),
                                        code_of(L"kernelbase.dll", "UnmapViewOfFile")};
  unsigned char before[3][kCodeBytes];
  for (int i = 0; i < 3; ++i) memcpy(before[i], codes[i], kCodeBytes);
  const auto is_as_before = [&](int i) { return memcmp(before[i], codes[i], kCodeBytes) == 0; };
  HANDLE threads[kThreads + 1];
  for (int i = 0; i < kThreads; ++i) {
    threads[i] =
        CreateThread(nullptr, 0, allocate, reinterpret_cast<void*>(static_cast<size_t>(i)), 0, nullptr);
  }
  threads[kThreads] = CreateThread(nullptr, 0, load, nullptr, 0, nullptr);
  int hooked = 0;
  int undone = 0;
  for (int i = 0; i < rounds; ++i) {
    if (is_profiled) {
      undone += stop() == 0;
      Sleep(i % 4 == 0 ? 1 : 0);
      hooked += start() == 0;
      continue;
    }
    hooked += hook() != 0 && !is_as_before(0) && !is_as_before(1) && !is_as_before(2);
    Sleep(i % 4 == 0 ? 1 : 0);
    undone += unhook() != 0 && is_as_before(0) && is_as_before(1) && is_as_before(2);
  }
  g_ends = true;
  WaitForMultipleObjects(kThreads + 1, threads, TRUE, INFINITE);
  std::printf("hooked %d, undone %d of %d; %s\n", hooked, undone, rounds,
              g_is_wrong ? "blocks are wrong" : "all blocks are right");
  std::fprintf(stderr, "%ld calls, %ld mappings, %ld loads\n", g_calls.load(), g_mapped.load(),
               g_loads.load());
  return hooked == rounds && undone == rounds && !g_is_wrong ? 0 : 1;
}
