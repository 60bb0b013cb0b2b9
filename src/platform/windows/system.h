// SPDX-License-Identifier: Apache-2.0
// What Windows's own headers say, and what they leave out.  Only platform/windows includes this.
//
// The library is linked with kernel32.dll and ntdll.dll alone, so that loading it loads nothing else: no C runtime.  Of
// ntdll it takes, besides what kernel32 has too: LdrRegisterDllNotification, NtGetNextThread, RtlDllShutdownInProgress.
#pragma once

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
// after windows.h
#include <psapi.h>
#include <winioctl.h>
#include <winternl.h>

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

inline uint64_t address_of(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// A word of the thread's environment block.
[[gnu::always_inline]] inline uint64_t thread_block_word(size_t offset) {
  uint64_t word;
  asm volatile("movq %%gs:(%1), %0" : "=r"(word) : "r"(offset));
  return word;
}
inline constexpr size_t kStackBase = 0x08;
inline constexpr size_t kSelf = 0x30;
inline constexpr size_t kThreadId = 0x48;
inline constexpr size_t kProcessBlock = 0x60;
inline constexpr size_t kLastError = 0x68;
inline constexpr size_t kThreadWords = 0x1480;  // of TlsAlloc
inline constexpr size_t kThreadWordCount = 64;
inline constexpr size_t kStackAllocation = 0x1478;  // where the stack's memory begins, below its guard page

// What functions that take and give an int call a file: a handle, of which 32 bits are significant.
inline HANDLE handle_of(int fd) {
  return reinterpret_cast<HANDLE>(static_cast<intptr_t>(fd));
}
inline int fd_of(HANDLE handle) {
  return static_cast<int>(reinterpret_cast<intptr_t>(handle));
}

}  // namespace memprof::platform
