// SPDX-License-Identifier: Apache-2.0
// memprof.dll in a process: its beginning and its end.
//
// The loader calls with its lock held.  Threads that begin and end are not told of: a thread's state is made when it first
// allocates (process/thread_data.cc).
#include "core/engine/profiler.h"
#include "platform/process.h"
#include "platform/windows/hooks/child_hook.h"
#include "platform/windows/hooks/heap_hooks.h"
#include "platform/windows/hooks/mapping_hooks.h"
#include "platform/windows/modules/module_list.h"
#include "platform/windows/process/injection.h"
#include "platform/windows/process/thread_data.h"
#include "platform/windows/system.h"

// The constructors of static variables, as the linker lists them: how many (-1: to the end), and a nullptr behind them.
extern "C" void (*__CTOR_LIST__[])();

namespace {

void construct() {
  uint32_t count = 0;
  while (__CTOR_LIST__[count + 1] != nullptr) {
    ++count;
  }
  for (; count > 0; --count) {
    __CTOR_LIST__[count]();
  }
}

void begin(HINSTANCE library) {
  using namespace memprof;
  construct();
  // For ever: hooks point into it.
  HMODULE pinned;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                     reinterpret_cast<const wchar_t*>(library), &pinned);
  DisableThreadLibraryCalls(library);
  platform::has_own_thread_data();
  platform::follow_loader();
  profiler::adopt_process();
  platform::program_path();
  autostart();
  if (profiler::state() == State::kActive) {
    if (platform::hook_heaps()) {
      platform::hook_mappings_if_asked();
    }
    platform::follow_children();
  }
}

}  // namespace

extern "C" BOOL WINAPI DllMainCRTStartup(HINSTANCE library, DWORD reason, void* /*reserved*/) {
  if (reason == DLL_PROCESS_ATTACH) {
    begin(library);
  } else if (reason == DLL_PROCESS_DETACH) {
    memprof::end_of_process();
  }
  return TRUE;
}

// No part of the public interface: for memprof.exe, and for tests, which put the hooks in and take them out again.
extern "C" {
const char* memprof_windows_inject(void* process) {
  return memprof::platform::load_library_into(process);
}
int memprof_windows_hook() {
  return memprof::platform::hook_heaps() && memprof::platform::hook_mappings() ? 1 : 0;
}
int memprof_windows_unhook() {
  const bool all = memprof::platform::unhook_mappings();
  return memprof::platform::unhook_heaps() && all ? 1 : 0;
}
}
