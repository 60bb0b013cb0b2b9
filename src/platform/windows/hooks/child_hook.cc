// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/hooks/child_hook.h"

#include "core/hooks/hook.h"
#include "platform/messages.h"
#include "platform/windows/hooks/patches.h"
#include "platform/windows/process/injection.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

uint64_t g_real_child_hook = 0;  // written before the hook runs

using CreateProcessInternal = BOOL(WINAPI*)(HANDLE token, const wchar_t* program, wchar_t* line,
                                            SECURITY_ATTRIBUTES* process_attributes,
                                            SECURITY_ATTRIBUTES* thread_attributes, BOOL inherits,
                                            DWORD flags, void* environment, const wchar_t* folder,
                                            STARTUPINFOW* startup, PROCESS_INFORMATION* process,
                                            HANDLE* new_token);

// A debugger has to let its child go on before a thread of ours could run there.
MEMPROF_HOOK BOOL WINAPI create_process(HANDLE token, const wchar_t* program, wchar_t* line,
                                        SECURITY_ATTRIBUTES* process_attributes,
                                        SECURITY_ATTRIBUTES* thread_attributes, BOOL inherits, DWORD flags,
                                        void* environment, const wchar_t* folder, STARTUPINFOW* startup,
                                        PROCESS_INFORMATION* process, HANDLE* new_token) {
  const bool is_debugged = (flags & (DEBUG_PROCESS | DEBUG_ONLY_THIS_PROCESS)) != 0;
  const DWORD more = is_debugged ? 0 : CREATE_SUSPENDED;
  const BOOL made = reinterpret_cast<CreateProcessInternal>(g_real_child_hook)(
      token, program, line, process_attributes, thread_attributes, inherits, flags | more, environment,
      folder, startup, process, new_token);
  if (made && !is_debugged) {
    const DWORD error = GetLastError();
    load_library_into(process->hProcess);  // of 32 bits, or protected: it runs without
    if ((flags & CREATE_SUSPENDED) == 0) {
      ResumeThread(process->hThread);
    }
    SetLastError(error);
  }
  return made;
}

Patch g_patch = {"CreateProcessInternalW", nullptr, &g_real_child_hook};

}  // namespace

void follow_children() {
  g_patch.hook = reinterpret_cast<const void*>(create_process);
  const char* culprit = "";
  if (const char* reason = install_patches(L"kernelbase.dll", &g_patch, 1, &culprit)) {
    const char* const parts[] = {"processes that are started are not profiled: ", culprit, " ", reason,
                                 nullptr};
    message(parts);
  }
}

}  // namespace memprof::platform
