// SPDX-License-Identifier: Apache-2.0
#include "memprof/windows/run.h"

#include <windows.h>

#include "memprof.h"
#include "memprof/windows/text.h"

extern "C" const char* memprof_windows_inject(void* process);

namespace memprof::cli {
namespace {

constexpr unsigned kFailed = 2;

// A folder of this run's, removed at its end if nothing is left in it.
class RunFolder {
 public:
  RunFolder() {
    std::wstring base(MAX_PATH + 1, L'\0');
    base.resize(GetTempPathW(MAX_PATH, base.data()));
    path_ = base + L"memprof-run-" + std::to_wstring(GetCurrentProcessId()) + L"-" +
            std::to_wstring(GetTickCount64());
    is_made_ = CreateDirectoryW(path_.c_str(), nullptr);
  }
  ~RunFolder() {
    if (is_made_) RemoveDirectoryW(path_.c_str());
  }
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  bool is_made() const { return is_made_; }
  const std::wstring& path() const { return path_; }

  // The file of a process; empty: it left none.
  std::wstring file_of(DWORD process_id) const {
    WIN32_FIND_DATAW found;
    const std::wstring pattern = path_ + L"\\memprof-" + std::to_wstring(process_id) + L"-*.arena";
    const HANDLE search = FindFirstFileW(pattern.c_str(), &found);
    if (search == INVALID_HANDLE_VALUE) return {};
    FindClose(search);
    return path_ + L"\\" + found.cFileName;
  }

 private:
  std::wstring path_;
  bool is_made_;
};

void set_environment(const RunRequest& request, const RunFolder& folder) {
  SetEnvironmentVariableW(L"MEMPROF_PROFILE", (folder.path() + L"\\%p.pb.gz").c_str());
  SetEnvironmentVariableW(L"MEMPROF_ARENA_DIR", folder.path().c_str());
  SetEnvironmentVariableW(L"MEMPROF_KEEP_ARENA", L"1");
  if (!request.rate.empty()) SetEnvironmentVariableW(L"MEMPROF_RATE", request.rate.c_str());
}

// Ctrl-C and Ctrl-Break go to the program, which has the same console: it ends, and memprof then.
BOOL WINAPI stay(DWORD event) {
  return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
}

bool start(const RunRequest& request, PROCESS_INFORMATION* process) {
  STARTUPINFOW startup{};
  startup.cb = sizeof(startup);
  startup.dwFlags = STARTF_USESTDHANDLES;
  startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
  startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
  startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
  std::wstring line = command_line(request.command);
  if (CreateProcessW(nullptr, line.data(), nullptr, nullptr, TRUE, CREATE_SUSPENDED, nullptr, nullptr,
                     &startup, process)) {
    return true;
  }
  complain(request.command[0] + L": cannot start it: " + last_error_text());
  return false;
}

// true: there is a profile at `output`.
bool write_profile(const std::wstring& arena, const std::wstring& output) {
  memprof_snapshot* snapshot = nullptr;
  int error = memprof_snapshot_open(to_utf8(arena).c_str(), &snapshot);
  if (error == MEMPROF_OK) {
    error = memprof_snapshot_write_profile(snapshot, to_utf8(output).c_str(), 0, nullptr);
    memprof_free_snapshot(snapshot);
  }
  if (error == MEMPROF_OK) {
    DeleteFileW(arena.c_str());
    return true;
  }
  complain(output + L": cannot write it: " +
           (error == MEMPROF_ERR_SYSTEM ? L"the system refused it" : to_utf16(memprof_strerror(error))) +
           L"; what was recorded stays in " + arena);
  return false;
}

}  // namespace

unsigned run(const RunRequest& request) {
  if (!request.output.empty() &&
      GetFileAttributesW(long_path(request.output).c_str()) != INVALID_FILE_ATTRIBUTES) {
    complain(request.output + L": file already exists; choose another name");
    return kFailed;
  }
  const RunFolder folder;
  if (!folder.is_made()) {
    complain(folder.path() + L": cannot make the folder of the run: " + last_error_text());
    return kFailed;
  }
  set_environment(request, folder);
  SetConsoleCtrlHandler(stay, TRUE);
  PROCESS_INFORMATION process;
  if (!start(request, &process)) return kFailed;
  if (const char* reason = memprof_windows_inject(process.hProcess)) {
    complain(request.command[0] + L": it runs without memprof: " + to_utf16(reason));
  }
  ResumeThread(process.hThread);
  WaitForSingleObject(process.hProcess, INFINITE);
  DWORD status = 0;
  GetExitCodeProcess(process.hProcess, &status);
  const std::wstring arena = folder.file_of(process.dwProcessId);
  if (arena.empty()) {
    complain(request.command[0] + L": nothing was recorded");
    return status != 0 ? status : kFailed;
  }
  const std::wstring output = request.output.empty()
                                  ? L"memprof-" + std::to_wstring(process.dwProcessId) + L".pb.gz"
                                  : request.output;
  if (!write_profile(arena, output)) return status != 0 ? status : kFailed;
  complain(L"wrote " + output + L"; see it with: memprof report " + output + L" (on Linux)");
  return status;
}

}  // namespace memprof::cli
