// SPDX-License-Identifier: Apache-2.0
// Command lines, as the system takes them apart.
#include "memprof/windows/text.h"

#include <gtest/gtest.h>
#include <windows.h>
// after windows.h
#include <shellapi.h>

namespace memprof::cli {
namespace {

TEST(WindowsCommandText, CommandLinesAreTakenApartAsTheyWere) {
  const std::vector<std::wstring> arguments = {
      L"C:\\a b\\c.exe", L"",       L"a b",  L"a\"b",         L"\\",          L"a\\\\b",
      L"a b\\",          L"\\\\\"", L"\t\n", L"\u00e9\u20ac", L"--x=\"y z\"", L"end\\\\"};
  int count = 0;
  wchar_t** const found = CommandLineToArgvW(command_line(arguments).c_str(), &count);
  EXPECT_EQ(std::vector<std::wstring>(found, found + count), arguments);
  LocalFree(found);
}

TEST(WindowsCommandText, GoesThereAndBack) {
  const std::wstring text = L"a\u00e9\u20ac\U0001f600";
  EXPECT_EQ(to_utf16(to_utf8(text)), text);
  EXPECT_EQ(to_utf8(L""), "");
}

TEST(WindowsCommandText, PathsBecomeLong) {
  EXPECT_EQ(long_path(L"C:\\a\\..\\b"), L"\\\\?\\C:\\b");
}

}  // namespace
}  // namespace memprof::cli
