// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/markdown_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "profile/text/text_writer.h"

namespace memprof::profile {

std::string markdown_code(const std::string& name) {
  std::string text;
  size_t run = 0;
  size_t longest = 0;
  for (const char c : printable(name)) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
    if (c == '|') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  const std::string ticks(longest + 1, '`');
  return longest == 0 ? ticks + text + ticks : ticks + " " + text + " " + ticks;
}

std::string markdown_plain(const std::string& text) {
  constexpr std::string_view kMarkup = "\\`*_{}[]<>#|~@";
  std::string result;
  for (const char c : printable(text)) {
    if (kMarkup.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

}  // namespace memprof::profile
