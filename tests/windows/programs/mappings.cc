// SPDX-License-Identifier: Apache-2.0
// Maps memory in functions of known names by each way that Windows has, and says on standard output what a profile has to say
// of each:  NAME mappings bytes     (what is committed; NAME 0 0: nothing is left)
// Beside that it allocates blocks that ntdll's heaps map memory for: none of that is the program's mapping.
#include <windows.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define MAPS extern "C" __attribute__((noinline))
#define NO_TAIL_CALL asm volatile("" ::: "memory")

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPiece = 65536;
bool g_is_wrong = false;

void say(const char* name, int mappings, size_t bytes) {
  std::printf("%s %d %zu\n", name, mappings, bytes);
}

void check(bool is_right, const char* what) {
  if (!is_right) {
    g_is_wrong = true;
    std::fprintf(stderr, "wrong: %s (%lu)\n", what, GetLastError());
  }
}

template <typename Function>
Function function_of(const char* name) {
  return reinterpret_cast<Function>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), name)));
}

using Alloc2 = void*(WINAPI*)(HANDLE, void*, SIZE_T, ULONG, ULONG, void*, ULONG);
using AllocFromApp = void*(WINAPI*)(void*, SIZE_T, ULONG, ULONG);
using Map3 = void*(WINAPI*)(HANDLE, HANDLE, void*, ULONG64, SIZE_T, ULONG, ULONG, void*, ULONG);
using Unmap2 = BOOL(WINAPI*)(HANDLE, void*, ULONG);

}  // namespace

MAPS char* by_virtual_alloc(size_t size) {
  auto* pages = static_cast<char*>(VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  NO_TAIL_CALL;
  return pages;
}
MAPS char* reserved(size_t size) {
  auto* pages = static_cast<char*>(VirtualAlloc(nullptr, size, MEM_RESERVE, PAGE_NOACCESS));
  NO_TAIL_CALL;
  return pages;
}
MAPS char* committed(char* address, size_t size) {
  auto* pages = static_cast<char*>(VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE));
  NO_TAIL_CALL;
  return pages;
}
MAPS char* committed_again(char* address, size_t size) {
  auto* pages = static_cast<char*>(VirtualAlloc(address, size, MEM_COMMIT, PAGE_READWRITE));
  NO_TAIL_CALL;
  return pages;
}
MAPS char* in_own_process(HANDLE process, size_t size) {
  auto* pages =
      static_cast<char*>(VirtualAllocEx(process, nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  NO_TAIL_CALL;
  return pages;
}
MAPS void* in_other_process(HANDLE process, size_t size) {
  void* pages = VirtualAllocEx(process, nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  NO_TAIL_CALL;
  return pages;
}
MAPS void* by_numa(size_t size) {
  void* pages =
      VirtualAllocExNuma(GetCurrentProcess(), nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE, 0);
  NO_TAIL_CALL;
  return pages;
}
MAPS void* by_alloc_2(size_t size) {
  void* pages = function_of<Alloc2>("VirtualAlloc2")(nullptr, nullptr, size, MEM_RESERVE | MEM_COMMIT,
                                                     PAGE_READWRITE, nullptr, 0);
  NO_TAIL_CALL;
  return pages;
}
MAPS void* from_app(size_t size) {
  void* pages = function_of<AllocFromApp>("VirtualAllocFromApp")(nullptr, size, MEM_RESERVE | MEM_COMMIT,
                                                                 PAGE_READWRITE);
  NO_TAIL_CALL;
  return pages;
}
MAPS void* by_view(HANDLE section, DWORD access, size_t size) {
  void* view = MapViewOfFile(section, access, 0, 0, size);
  NO_TAIL_CALL;
  return view;
}
MAPS void* by_view_3(HANDLE section, size_t size) {
  void* view = function_of<Map3>("MapViewOfFile3")(section, GetCurrentProcess(), nullptr, 0, size, 0,
                                                   PAGE_READWRITE, nullptr, 0);
  NO_TAIL_CALL;
  return view;
}
MAPS void* by_view_numa(HANDLE section, size_t size) {
  void* view = MapViewOfFileExNuma(section, FILE_MAP_WRITE, 0, 0, size, nullptr, 0);
  NO_TAIL_CALL;
  return view;
}
MAPS void* by_file(HANDLE section, DWORD access) {
  void* view = MapViewOfFile(section, access, 0, 0, 0);
  NO_TAIL_CALL;
  return view;
}
MAPS void* by_copied_file(HANDLE section) {
  void* view = MapViewOfFile(section, FILE_MAP_COPY, 0, 0, 0);
  NO_TAIL_CALL;
  return view;
}
MAPS void* by_image(HANDLE section) {
  void* view = MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0);
  NO_TAIL_CALL;
  return view;
}
MAPS void* by_reserved_view(HANDLE section) {
  void* view = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, 0);
  NO_TAIL_CALL;
  return view;
}
MAPS void* in_reserved_view(void* view, size_t size) {
  void* pages = VirtualAlloc(view, size, MEM_COMMIT, PAGE_READWRITE);
  NO_TAIL_CALL;
  return pages;
}
MAPS void* by_heap(HANDLE heap, size_t size) {
  void* block = HeapAlloc(heap, 0, size);
  NO_TAIL_CALL;
  return block;
}
MAPS void* by_thread(size_t size) {
  void* pages = VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  NO_TAIL_CALL;
  return pages;
}
MAPS void* on_own_stack() {
  char here = 0;
  void* pages = VirtualAlloc(&here, 1, MEM_COMMIT, PAGE_READWRITE);
  NO_TAIL_CALL;
  return pages;
}
MAPS void* refused() {
  void* pages = VirtualAlloc(nullptr, SIZE_MAX / 4, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  NO_TAIL_CALL;
  return pages;
}

namespace {

void pages() {
  constexpr int kRegions = 100;
  char* regions[kRegions];
  for (char*& region : regions) {
    region = by_virtual_alloc(kPiece + 1);
    memset(region, 1, kPiece + 1);
  }
  SetLastError(78);
  for (int i = 0; i < kRegions / 2; ++i) check(VirtualFree(regions[i], 0, MEM_RELEASE), "release");
  check(GetLastError() == 78, "the last error of a release");
  say("by_virtual_alloc", kRegions / 2, kRegions / 2 * (kPiece + kPage));
  SetLastError(77);
  check(by_numa(3 * kPage) != nullptr && GetLastError() == 77, "VirtualAllocExNuma");
  say("by_numa", 1, 3 * kPage);
  check(by_alloc_2(5 * kPage) != nullptr, "VirtualAlloc2");
  say("by_alloc_2", 1, 5 * kPage);
  check(from_app(7 * kPage) != nullptr, "VirtualAllocFromApp");
  say("from_app", 1, 7 * kPage);
  // What is refused says so, and changes nothing.
  SetLastError(0);
  check(refused() == nullptr && GetLastError() != 0, "a refusal");
  std::fprintf(stderr, "refused with %lu\n", GetLastError());
  say("refused", 0, 0);
  check(!VirtualFree(regions[99], 1, MEM_RELEASE) && GetLastError() == ERROR_INVALID_PARAMETER,
        "release of a part");
  check(!VirtualFree(reinterpret_cast<void*>(kPiece), 0, MEM_RELEASE), "release of nothing");
  check(on_own_stack() != nullptr, "a page of the stack");
  say("on_own_stack", 0, 0);
}

// Reserved, committed in pieces, again, taken away in part and as a whole.
void pieces() {
  char* region = reserved(16 << 20);
  for (size_t i = 0; i < 64; ++i) committed(region + i * 4 * kPage, 4 * kPage);
  for (size_t i = 0; i < 64 * 4; i += 2) committed_again(region + i * kPage, 1);
  check(committed_again(region, 65 * 4 * kPage) == region, "commit again");  // of which 4 pages are new
  say("reserved", 0, 0);
  check(VirtualFree(region + 8 * kPage, 8 * kPage, MEM_DECOMMIT), "decommit");
  check(VirtualFree(region + 20 * kPage, 1, MEM_DECOMMIT), "decommit of a page");
  say("committed", 62, 62 * 4 * kPage - kPage);
  say("committed_again", 1, 4 * kPage);
  char* gone = reserved(1 << 20);
  committed(gone + kPiece, kPiece);
  check(VirtualFree(gone, 0, MEM_DECOMMIT), "decommit of a region");
  committed(gone, kPage);
  check(VirtualFree(gone, 0, MEM_RELEASE), "release of a region");
  gone = by_virtual_alloc(kPiece);
  DWORD before;
  check(VirtualProtect(gone + kPage, kPage, PAGE_READONLY, &before), "protect");
  check(VirtualAlloc(gone, kPage, MEM_RESET, PAGE_READWRITE) != nullptr, "reset");
  check(VirtualFree(gone, 0, MEM_RELEASE), "release of a region in parts");
}

void processes(char** values) {
  const HANDLE self = OpenProcess(PROCESS_ALL_ACCESS, FALSE, GetCurrentProcessId());
  char* region = in_own_process(self, 2 * kPiece);
  check(region != nullptr && in_own_process(self, kPiece) != nullptr, "own process");
  check(VirtualFreeEx(self, region, 0, MEM_RELEASE), "release by a handle");
  say("in_own_process", 1, kPiece);
  STARTUPINFOA startup{};
  startup.cb = sizeof(startup);
  PROCESS_INFORMATION other;
  check(CreateProcessA(values[0], nullptr, nullptr, nullptr, FALSE, CREATE_SUSPENDED, nullptr, nullptr,
                       &startup, &other),
        "start");
  void* there = in_other_process(other.hProcess, kPiece);
  check(there != nullptr, "other process");
  // And a mapping of one's own at that address stays when the other one's goes.
  check(VirtualFreeEx(other.hProcess, there, 0, MEM_RELEASE), "release there");
  check(in_other_process(other.hProcess, kPiece) != nullptr, "other process again");
  TerminateProcess(other.hProcess, 0);
  say("in_other_process", 0, 0);
}

void views(const char* path, const char* program) {
  const HANDLE section =
      CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE, 0, 1 << 20, nullptr);
  void* all[4];
  SetLastError(79);
  for (void*& view : all) check((view = by_view(section, FILE_MAP_WRITE, 1 << 19)) != nullptr, "view");
  by_view(section, FILE_MAP_READ, 0);
  for (void* view : all) check(UnmapViewOfFile(view), "unmap");
  check(GetLastError() == 79, "the last error of views");
  check(!UnmapViewOfFile(all[0]), "unmap twice");
  say("by_view", 1, 1 << 20);
  void* three = by_view_3(section, 1 << 18);
  check(three != nullptr && by_view_3(section, 1 << 17) != nullptr, "MapViewOfFile3");
  check(function_of<Unmap2>("UnmapViewOfFile2")(GetCurrentProcess(), three, 0), "UnmapViewOfFile2");
  say("by_view_3", 1, 1 << 17);
  check(by_view_numa(section, kPiece) != nullptr, "MapViewOfFileExNuma");
  say("by_view_numa", 1, kPiece);
  const HANDLE file = CreateFileA(path, GENERIC_READ | GENERIC_WRITE, 0, nullptr, CREATE_ALWAYS,
                                  FILE_FLAG_DELETE_ON_CLOSE, nullptr);
  const HANDLE of_file = CreateFileMappingW(file, nullptr, PAGE_READWRITE, 0, 200000, nullptr);
  void* view = by_file(of_file, FILE_MAP_WRITE);
  check(view != nullptr && by_file(of_file, FILE_MAP_READ) != nullptr, "view of a file");
  memset(view, 1, 200000);
  check(UnmapViewOfFile(view), "unmap a file");
  say("by_file", 1, 49 * kPage);
  check(by_copied_file(of_file) != nullptr, "copy of a file");
  say("by_copied_file", 0, 0);
  const HANDLE executable =
      CreateFileA(program, GENERIC_READ, FILE_SHARE_READ, nullptr, OPEN_EXISTING, 0, nullptr);
  const HANDLE image = CreateFileMappingW(executable, nullptr, PAGE_READONLY | SEC_IMAGE, 0, 0, nullptr);
  check(by_image(image) != nullptr, "image");
  say("by_image", 0, 0);
  const HANDLE reserve =
      CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE | SEC_RESERVE, 0, 1 << 20, nullptr);
  void* later = by_reserved_view(reserve);
  check(later != nullptr && in_reserved_view(later, 3 * kPage) != nullptr, "commit in a view");
  say("by_reserved_view", 0, 0);
  say("in_reserved_view", 1, 3 * kPage);
}

// Blocks are no mappings, be they as large as they will, nor is what heaps take for themselves.
void heaps() {
  const HANDLE heap = HeapCreate(0, 0, 0);
  for (int i = 0; i < 20; ++i) memset(by_heap(heap, 3 << 20), 1, 3 << 20);
  for (int i = 0; i < 2000; ++i) by_heap(GetProcessHeap(), 5000);
  for (int i = 0; i < 4; ++i) by_heap(HeapCreate(0, 1 << 20, 0), 1 << 19);
  say("by_heap", 0, 0);
}

constexpr int kRounds = 200;

DWORD WINAPI run_thread(void*) {
  void* kept = nullptr;
  for (int i = 0; i < kRounds; ++i) {
    void* region = by_thread(kPiece);
    check(region != nullptr, "a thread's region");
    if (kept != nullptr) check(VirtualFree(kept, 0, MEM_RELEASE), "a thread's release");
    kept = region;
  }
  return 0;
}

void threads() {
  constexpr int kThreads = 8;
  HANDLE running[kThreads];
  for (HANDLE& thread : running) thread = CreateThread(nullptr, 0, run_thread, nullptr, 0, nullptr);
  WaitForMultipleObjects(kThreads, running, TRUE, INFINITE);
  say("by_thread", kThreads, kThreads * kPiece);
}

}  // namespace

int main(int count, char** values) {
  pages();
  pieces();
  processes(values);
  views(count > 1 ? values[1] : "mappings.tmp", values[0]);
  heaps();
  threads();
  std::fflush(stdout);
  return g_is_wrong ? 1 : 42;
}
