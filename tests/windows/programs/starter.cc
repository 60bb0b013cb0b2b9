// SPDX-License-Identifier: Apache-2.0
// Starts the program that its arguments name, by each form of CreateProcess, waits for it, and ends with its status.
#include <windows.h>

#include <cstdio>
#include <string>

namespace {

DWORD status_of(const PROCESS_INFORMATION& process) {
  WaitForSingleObject(process.hProcess, INFINITE);
  DWORD status = 0;
  GetExitCodeProcess(process.hProcess, &status);
  CloseHandle(process.hThread);
  CloseHandle(process.hProcess);
  return status;
}

}  // namespace

int main(int count, char** values) {
  std::string line;
  for (int i = 1; i < count; ++i) line += std::string(i > 1 ? " " : "") + values[i];
  const std::wstring wide(line.begin(), line.end());
  STARTUPINFOA narrow{};
  narrow.cb = sizeof(narrow);
  STARTUPINFOW startup{};
  startup.cb = sizeof(startup);
  PROCESS_INFORMATION process;
  std::string copy = line;
  if (!CreateProcessA(nullptr, copy.data(), nullptr, nullptr, TRUE, 0, nullptr, nullptr, &narrow, &process))
    return 1;
  const DWORD first = status_of(process);
  // Its maker resumes it, and finds it suspended once.
  std::wstring wide_copy = wide;
  if (!CreateProcessW(nullptr, wide_copy.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED, nullptr, nullptr,
                      &startup, &process))
    return 1;
  const DWORD suspended = ResumeThread(process.hThread);
  const DWORD second = status_of(process);
  const bool is_refused = !CreateProcessW(L"nowhere.exe", nullptr, nullptr, nullptr, TRUE, 0, nullptr,
                                          nullptr, &startup, &process);
  std::printf("suspended %lu, refused %d with %lu\n", suspended, is_refused, GetLastError());
  return first == second ? static_cast<int>(first) : 1;
}
