// SPDX-License-Identifier: Apache-2.0
#include "memprof/windows/run.h"

#include <windows.h>

#include <cstring>
#include <cwchar>
#include <map>

#include "format/pprof/pprof_name.h"
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

  // The files of processes, by their ids.
  std::map<DWORD, std::wstring> files() const {
    std::map<DWORD, std::wstring> found;
    WIN32_FIND_DATAW entry;
    const HANDLE search = FindFirstFileW((path_ + L"\\memprof-*.arena").c_str(), &entry);
    if (search == INVALID_HANDLE_VALUE) return found;
    do {
      found.emplace(std::wcstoul(entry.cFileName + 8, nullptr, 10), path_ + L"\\" + entry.cFileName);
    } while (FindNextFileW(search, &entry));
    FindClose(search);
    return found;
  }

 private:
  std::wstring path_;
  bool is_made_;
};

void set_environment(const RunRequest& request, const RunFolder& folder) {
  SetEnvironmentVariableW(L"MEMPROF_PROFILE", (folder.path() + L"\\%p.pb.gz").c_str());
  SetEnvironmentVariableW(L"MEMPROF_ARENA_DIR", folder.path().c_str());
  SetEnvironmentVariableW(L"MEMPROF_KEEP_ARENA", L"1");
  const bool is_said = GetEnvironmentVariableW(L"MEMPROF_MMAP", nullptr, 0) != 0;
  if (request.mappings || !is_said) SetEnvironmentVariableW(L"MEMPROF_MMAP", L"1");
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

bool is_running(DWORD process_id) {
  const HANDLE process = OpenProcess(SYNCHRONIZE, FALSE, process_id);
  if (process == nullptr) return false;
  const bool is_running = WaitForSingleObject(process, 0) == WAIT_TIMEOUT;
  CloseHandle(process);
  return is_running;
}

// app.pb.gz: app.123.pb.gz
std::wstring with_process(const std::wstring& path, DWORD process_id) {
  const std::string text = to_utf8(path);
  const size_t end = strlen(profile::pprof_end_of(text.c_str())->text);
  return path.substr(0, path.size() - end) + L"." + std::to_wstring(process_id) +
         path.substr(path.size() - end);
}

// The exit status of the run.  The handle of the process keeps its id from being another one's.
unsigned write_profiles(const RunRequest& request, const RunFolder& folder,
                        const PROCESS_INFORMATION& process, DWORD status) {
  const std::wstring first = request.output.empty()
                                 ? L"memprof-" + std::to_wstring(process.dwProcessId) + L".pb.gz"
                                 : request.output;
  size_t failed = 0;
  size_t written = 0;
  size_t running = 0;
  for (const auto& [id, arena] : folder.files()) {
    const bool is_first = id == process.dwProcessId;
    if (!is_first && is_running(id)) {
      ++running;
    } else if (write_profile(arena, is_first ? first : with_process(first, id))) {
      ++written;
    } else {
      ++failed;
    }
  }
  if (running != 0) {
    complain(std::to_wstring(running) + L" of its processes still run; what they record is in " +
             folder.path());
  }
  if (written == 0 && failed == 0) complain(request.command[0] + L": nothing was recorded");
  const unsigned result = status == 0 && (failed != 0 || written == 0) ? kFailed : status;
  if (written == 0) return result;
  const std::wstring more =
      written > 1 ? L" and " + std::to_wstring(written - 1) + L" of processes that it started" : L"";
  complain(L"wrote " + first + more + L"; see it with: memprof report " + first + L" (on Linux)");
  return result;
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
  CloseHandle(process.hThread);
  return write_profiles(request, folder, process, status);
}

}  // namespace memprof::cli
