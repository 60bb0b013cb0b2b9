// SPDX-License-Identifier: Apache-2.0
// memprof.exe: memprof run on Windows.  Experimental: docs/windows.md.
#include <windows.h>

#include "format/pprof/pprof_name.h"
#include "format/size_text.h"
#include "memprof.h"
#include "memprof/windows/run.h"
#include "memprof/windows/text.h"

namespace {

using memprof::cli::complain;

constexpr wchar_t kUsage[] = L"usage: memprof run [-r RATE] [-o FILE] [--mmap] [--] PROGRAM ARGUMENT...";
constexpr int kWrongUse = 2;

int refuse(const std::wstring& text) {
  complain(text);
  return kWrongUse;
}

int print(const std::string& text) {
  DWORD written;
  WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), text.data(), static_cast<DWORD>(text.size()), &written, nullptr);
  return 0;
}

// Empty: none.
std::wstring reason_against(const memprof::cli::RunRequest& request) {
  uint64_t rate = 0;
  if (!request.rate.empty() && !memprof::parse_size(memprof::cli::to_utf8(request.rate).c_str(), &rate)) {
    return L"-r: '" + request.rate +
           L"' is not a rate; give bytes between samples like 512k, 64k, 1M, or 0 for every allocation";
  }
  const std::string output = memprof::cli::to_utf8(request.output);
  if (!output.empty() && memprof::profile::pprof_end_of(output.c_str()) == nullptr) {
    return L"-o: '" + request.output + L"' must end in .pb.gz, .pprof or .pb";
  }
  return {};
}

// Options stand before the command, which begins at the first argument that is none.
int run(const std::vector<std::wstring>& arguments) {
  memprof::cli::RunRequest request;
  size_t at = 0;
  for (; at < arguments.size() && arguments[at].size() > 1 && arguments[at][0] == L'-'; ++at) {
    const std::wstring& option = arguments[at];
    if (option == L"--") {
      ++at;
      break;
    }
    if (option == L"--mmap") {
      request.mappings = true;
      continue;
    }
    std::wstring* value = option == L"-r" || option == L"--rate"     ? &request.rate
                          : option == L"-o" || option == L"--output" ? &request.output
                                                                     : nullptr;
    if (value == nullptr) return refuse(L"run: unknown option '" + option + L"'; " + kUsage);
    if (++at == arguments.size()) return refuse(L"run: " + option + L" needs a value; " + kUsage);
    *value = arguments[at];
  }
  if (const std::wstring wrong = reason_against(request); !wrong.empty()) return refuse(L"run: " + wrong);
  request.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  if (request.command.empty()) return refuse(std::wstring(L"no program given; ") + kUsage);
  return static_cast<int>(memprof::cli::run(request));
}

}  // namespace

int wmain(int count, wchar_t** values) {
  const std::vector<std::wstring> arguments(values + 1, values + count);
  const std::wstring verb = arguments.empty() ? L"" : arguments[0];
  if (verb == L"--version") return print(std::string("memprof ") + memprof_version() + "\n");
  if (verb == L"--help") return print(memprof::cli::to_utf8(kUsage) + "\n");
  if (verb == L"run") return run({arguments.begin() + 1, arguments.end()});
  return refuse(verb.empty() ? kUsage : L"unknown command '" + verb + L"'; " + kUsage);
}
