// SPDX-License-Identifier: Apache-2.0
#include "memprof/windows/text.h"

#include <windows.h>

namespace memprof::cli {

std::string to_utf8(std::wstring_view text) {
  const auto length = static_cast<int>(text.size());
  const int bytes = WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), length, out.data(), bytes, nullptr, nullptr);
  return out;
}

std::wstring to_utf16(std::string_view text) {
  const auto length = static_cast<int>(text.size());
  const int units = MultiByteToWideChar(CP_UTF8, 0, text.data(), length, nullptr, 0);
  std::wstring out(static_cast<size_t>(units), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), length, out.data(), units);
  return out;
}

void complain(const std::wstring& text) {
  const std::wstring line = L"memprof: " + text + L"\n";
  const HANDLE file = GetStdHandle(STD_ERROR_HANDLE);
  DWORD ignored;
  if (GetConsoleMode(file, &ignored)) {
    WriteConsoleW(file, line.data(), static_cast<DWORD>(line.size()), &ignored, nullptr);
    return;
  }
  const std::string bytes = to_utf8(line);
  WriteFile(file, bytes.data(), static_cast<DWORD>(bytes.size()), &ignored, nullptr);
}

std::wstring command_line(const std::vector<std::wstring>& arguments) {
  std::wstring line;
  for (const std::wstring& argument : arguments) {
    if (!line.empty()) line += L' ';
    if (!argument.empty() && argument.find_first_of(L" \t\n\v\"") == std::wstring::npos) {
      line += argument;
      continue;
    }
    line += L'"';
    size_t slashes = 0;
    for (const wchar_t c : argument) {
      if (c == L'\\') {
        ++slashes;
        continue;
      }
      line.append(c == L'"' ? 2 * slashes + 1 : slashes, L'\\');
      slashes = 0;
      line += c;
    }
    line.append(2 * slashes, L'\\');
    line += L'"';
  }
  return line;
}

std::wstring last_error_text() {
  wchar_t text[512];
  DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, nullptr,
                                GetLastError(), 0, text, 512, nullptr);
  while (length > 0 && (text[length - 1] <= L' ' || text[length - 1] == L'.')) --length;
  return length != 0 ? std::wstring(text, length) : L"the system refused it";
}

std::wstring long_path(const std::wstring& path) {
  const DWORD units = GetFullPathNameW(path.c_str(), 0, nullptr, nullptr);
  std::wstring full(units, L'\0');
  full.resize(GetFullPathNameW(path.c_str(), units, full.data(), nullptr));
  const bool is_drive = full.size() > 2 && full[1] == L':';
  return is_drive ? L"\\\\?\\" + full : full;
}

}  // namespace memprof::cli
