// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/hooks/threads.h"

extern "C" NTSTATUS NTAPI NtGetNextThread(HANDLE process, HANDLE thread, ACCESS_MASK access, ULONG attributes,
                                          ULONG flags, HANDLE* next);

namespace memprof::platform {

// A thread that runs may make others before it is suspended itself: until a look finds no new one.
ThreadsSuspended::ThreadsSuspended() {
  constexpr size_t kBytes = kMaxThreads * (sizeof(HANDLE) + sizeof(uint32_t));
  handles_ = static_cast<HANDLE*>(VirtualAlloc(nullptr, kBytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
  is_complete_ = handles_ != nullptr;
  ids_ = reinterpret_cast<uint32_t*>(handles_ + kMaxThreads);
  for (bool found = true; found && is_complete_;) {
    suspend_new(&found);
  }
}

ThreadsSuspended::~ThreadsSuspended() {
  for (uint32_t i = 0; i < count_; ++i) {
    ResumeThread(handles_[i]);
    CloseHandle(handles_[i]);
  }
  if (handles_ != nullptr) {
    VirtualFree(handles_, 0, MEM_RELEASE);
  }
}

void ThreadsSuspended::suspend_new(bool* found) {
  constexpr ACCESS_MASK kAccess = THREAD_SUSPEND_RESUME | THREAD_GET_CONTEXT | THREAD_QUERY_INFORMATION;
  *found = false;
  HANDLE thread = nullptr;
  HANDLE kept = nullptr;  // the one before, if it is to be closed
  while (NtGetNextThread(GetCurrentProcess(), thread, kAccess, 0, 0, &thread) == 0) {
    if (kept != nullptr) {
      CloseHandle(kept);
    }
    kept = thread;
    const uint32_t id = GetThreadId(thread);
    bool is_known = id == GetCurrentThreadId();
    for (uint32_t i = 0; i < count_ && !is_known; ++i) {
      is_known = ids_[i] == id;
    }
    if (is_known) {
      continue;
    }
    if (count_ == kMaxThreads) {
      is_complete_ = false;
      break;
    }
    if (SuspendThread(thread) == static_cast<DWORD>(-1)) {
      continue;  // it has ended
    }
    *found = true;
    ids_[count_] = id;
    handles_[count_++] = thread;
    kept = nullptr;
  }
  if (kept != nullptr) {
    CloseHandle(kept);
  }
}

// Reading its registers waits until the thread does stand still, which SuspendThread does not.
bool ThreadsSuspended::is_any_inside(uint64_t start, uint64_t size_bytes) const {
  bool is_inside = false;
  for (uint32_t i = 0; i < count_; ++i) {
    CONTEXT context;
    context.ContextFlags = CONTEXT_CONTROL;
    is_inside |=
        !GetThreadContext(handles_[i], &context) || (context.Rip > start && context.Rip < start + size_bytes);
  }
  return is_inside;
}

}  // namespace memprof::platform
