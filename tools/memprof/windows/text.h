// SPDX-License-Identifier: Apache-2.0
// Text of Windows (UTF-16) and of memprof.dll (UTF-8), command lines, and lines on standard error.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memprof::cli {

std::string to_utf8(std::wstring_view text);
std::wstring to_utf16(std::string_view text);

// One line to standard error, "memprof: " before it: to a console as it is, else in UTF-8.
void complain(const std::wstring& text);

// As programs take it apart again: quotes around what has blanks, backslashes before quotes doubled.
std::wstring command_line(const std::vector<std::wstring>& arguments);

// What the system says of its last error.
std::wstring last_error_text();

// A path without the limit of 260 units.
std::wstring long_path(const std::wstring& path);

}  // namespace memprof::cli
