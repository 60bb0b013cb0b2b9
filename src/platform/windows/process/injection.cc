// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/process/injection.h"

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

constexpr DWORD kMaxPathUnits = 4096;

// Memory in another process, as long as this lives.
class RemoteText {
 public:
  RemoteText(HANDLE process, const wchar_t* text, size_t length) : process_(process) {
    const size_t bytes = (length + 1) * sizeof(wchar_t);
    start_ = VirtualAllocEx(process, nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    if (start_ != nullptr && !WriteProcessMemory(process, start_, text, bytes, nullptr)) {
      release();
    }
  }
  ~RemoteText() { release(); }
  RemoteText(const RemoteText&) = delete;
  RemoteText& operator=(const RemoteText&) = delete;

  void* start() const { return start_; }
  void leave() { start_ = nullptr; }

 private:
  void release() {
    if (start_ != nullptr) {
      VirtualFreeEx(process_, start_, 0, MEM_RELEASE);
      start_ = nullptr;
    }
  }

  HANDLE process_;
  void* start_;
};

const char* run_there(HANDLE process, const wchar_t* path, size_t length) {
  RemoteText text(process, path, length);
  if (text.start() == nullptr) {
    return "the system does not let its memory be written";
  }
  const auto load = reinterpret_cast<LPTHREAD_START_ROUTINE>(
      reinterpret_cast<void*>(GetProcAddress(GetModuleHandleW(L"kernel32.dll"), "LoadLibraryW")));
  const HANDLE thread = CreateRemoteThread(process, nullptr, 0, load, text.start(), 0, nullptr);
  if (thread == nullptr) {
    return "the system does not let a thread be made in it";
  }
  constexpr DWORD kMaxWaitMs = 60000;
  if (WaitForSingleObject(thread, kMaxWaitMs) != WAIT_OBJECT_0) {
    CloseHandle(thread);
    text.leave();  // it may still be read
    return "memprof.dll was not loaded within a minute";
  }
  DWORD loaded = 0;  // the lower half of the module's address
  GetExitCodeThread(thread, &loaded);
  CloseHandle(thread);
  return loaded != 0 ? nullptr : "it refused to load memprof.dll";
}

}  // namespace

const char* load_library_into(void* process) {
  BOOL is_small = FALSE;
  if (IsWow64Process(process, &is_small) && is_small) {
    return "it is a program of 32 bits";
  }
  HMODULE own = nullptr;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<const wchar_t*>(&load_library_into), &own);
  wchar_t path[kMaxPathUnits];
  const DWORD length = GetModuleFileNameW(own, path, kMaxPathUnits);
  if (length == 0 || length == kMaxPathUnits) {
    return "the path of memprof.dll is too long";
  }
  return run_there(process, path, length);
}

}  // namespace memprof::platform
