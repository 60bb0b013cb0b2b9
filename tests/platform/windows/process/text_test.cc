// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/process/text.h"

#include <gtest/gtest.h>

#include <string>

namespace memprof::platform {
namespace {

std::string utf8(const std::wstring& text, size_t room = 100) {
  std::string out(room, '#');
  out.resize(to_utf8(text.data(), text.size(), out.data(), room));
  return out;
}

std::wstring utf16(const std::string& text, size_t room = 100) {
  std::wstring out(room, L'#');
  out.resize(to_utf16(text.c_str(), out.data(), room));
  return out;
}

TEST(WindowsText, GoesThereAndBack) {
  const std::wstring text = L"a\u00e9\u20ac\U0001f600z";
  EXPECT_EQ(utf8(text), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z");
  EXPECT_EQ(utf16(utf8(text)), text);
}

TEST(WindowsText, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(utf8(std::wstring(1, wchar_t{0xd800}) + L"x"), "\xef\xbf\xbdx");
  EXPECT_EQ(utf8(std::wstring(1, wchar_t{0xdc00})), "\xef\xbf\xbd");
  EXPECT_EQ(utf16("\x80\xffx"), L"\ufffd\ufffdx");
  EXPECT_EQ(utf16("\xe2\x82"), L"\ufffd");          // cut
  EXPECT_EQ(utf16("\xed\xa0\x80"), L"\ufffd");      // half of a pair
  EXPECT_EQ(utf16("\xf4\x90\x80\x80"), L"\ufffd");  // beyond what there is
}

TEST(WindowsText, OnlyWholeCharactersAreWritten) {
  EXPECT_EQ(utf8(L"ab\u20ac", 5), "ab");
  EXPECT_EQ(utf8(L"ab\u20ac", 6), "ab\xe2\x82\xac");
  EXPECT_EQ(utf16("a\xf0\x9f\x98\x80", 3), L"a");
  EXPECT_EQ(utf8(L"abc", 1), "");
}

TEST(WindowsText, PathsHaveSlashes) {
  char out[20];
  EXPECT_EQ(path_to_utf8(L"C:\\a\\b.exe", 10, out, sizeof(out)), 10u);
  EXPECT_STREQ(out, "C:/a/b.exe");
}

TEST(WindowsText, OnlyLongPathsOfDrivesGetThePrefix) {
  EXPECT_EQ(std::wstring(WidePath("C:/a/b").text), L"C:/a/b");
  const std::string part(250, 'x');
  EXPECT_EQ(std::wstring(WidePath(("C:/a/" + part).c_str()).text),
            L"\\\\?\\C:\\a\\" + std::wstring(250, L'x'));
  EXPECT_EQ(std::wstring(WidePath(part.c_str()).text), std::wstring(250, L'x'));
}

}  // namespace
}  // namespace memprof::platform
