// SPDX-License-Identifier: Apache-2.0
// Changes the first instruction of a function of kernelbase's, which its argument names, into a call, so that it cannot be
// hooked; then it loads memprof.dll, which finds its settings in the environment, and allocates.
#include <windows.h>

#include <cstdio>
#include <cstring>

#define ALLOCATES extern "C" __attribute__((noinline))
#define NO_TAIL_CALL asm volatile("" ::: "memory")

ALLOCATES void* by_heap(size_t size) {
  void* block = HeapAlloc(GetProcessHeap(), 0, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_virtual_alloc(size_t size) {
  void* pages = VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  NO_TAIL_CALL;
  return pages;
}

int main(int count, char** values) {
  void* const code = reinterpret_cast<void*>(
      GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), count > 1 ? values[1] : "MapViewOfFile3"));
  const unsigned char changed[] = {0xe8, 0, 0, 0, 0};
  unsigned char before[sizeof(changed)];
  DWORD protection;
  if (code == nullptr || !VirtualProtect(code, sizeof(changed), PAGE_EXECUTE_READWRITE, &protection))
    return 1;
  memcpy(before, code, sizeof(before));
  memcpy(code, changed, sizeof(changed));
  if (LoadLibraryW(L"memprof.dll") == nullptr) return 1;
  bool is_right = memcmp(code, changed, sizeof(changed)) == 0;
  for (int i = 0; i < 100; ++i) is_right = by_heap(1000) != nullptr && is_right;
  void* const pages[] = {by_virtual_alloc(65536), by_virtual_alloc(65536)};
  is_right = pages[0] != nullptr && VirtualFree(pages[1], 0, MEM_RELEASE) && is_right;
  memcpy(code, before, sizeof(before));
  std::printf("%s\n", is_right ? "all is right" : "something is wrong");
  return is_right ? 0 : 1;
}
