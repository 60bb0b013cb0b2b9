// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/cython/cython_code.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <optional>

#include "profile/files/source_file.h"
#include "profile/names/interpreter_frames.h"

namespace memprof::profile {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr std::string_view kMarkBegin = "/* \"";

// Takes the number off the front of `text`; 0: there is none.
size_t take_number(std::string_view* text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc()) return 0;
  text->remove_prefix(static_cast<size_t>(end - text->data()));
  return number;
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

// Is a number the length of a scope's name, or one that stands before the function's? The module is a scope; so is what
// another number follows. A cdef function has no number, nor has the first body of a scope; those of bodies are even.
bool is_scope(std::string_view kind, std::string_view rest, size_t number, bool is_first) {
  if (is_first || kind == "f" || begins_with_digit(rest.substr(number + 1))) return true;
  return kind == "pf" && (number % 2 != 0 || (rest[0] >= 'A' && rest[0] <= 'Z'));
}

// The folder of the C file and the name of the other one: the comment has a path from where Cython was run.
std::string beside(const std::string& c_file, std::string_view file) {
  return c_file.substr(0, c_file.rfind('/') + 1) + std::string(file.substr(file.rfind('/') + 1));
}

}  // namespace

std::string cython_name(std::string_view symbol) {
  if (!is_cython_symbol(symbol)) return "";
  symbol.remove_prefix(kCythonPrefix.size());
  const std::string_view kind = symbol.substr(0, symbol.find('_'));
  symbol.remove_prefix(std::min(kind.size() + 1, symbol.size()));
  symbol = symbol.substr(0, symbol.find('.'));  // of a compiler's clone
  std::string name;
  while (begins_with_digit(symbol)) {
    std::string_view rest = symbol;
    const size_t length = take_number(&rest);
    const bool can_be_scope = length != 0 && length + 1 < rest.size() && rest[length] == '_';
    if (!can_be_scope || !is_scope(kind, rest, length, name.empty())) {
      symbol = rest;
      break;
    }
    name += std::string(rest.substr(0, length)) + ".";
    symbol = rest.substr(length + 1);
  }
  return symbol.empty() ? "" : name + std::string(symbol);
}

bool CythonSources::to_source(std::string* file, int64_t* line) {
  const auto [known, is_new] = marks_.try_emplace(*file);
  std::vector<Mark>& marks = known->second;
  if (is_new && !file->empty() && (*file)[0] == '/' && is_source_name(*file)) {
    const std::optional<SourceFile> source = read_source_file(*file, {true, {}}, kMaxBytes);
    std::string_view text = source ? std::string_view(source->text) : std::string_view();
    for (int64_t number = 1; !text.empty(); ++number) {
      std::string_view row = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(row.size() + 1, text.size()));
      row.remove_prefix(std::min(row.find_first_not_of(' '), row.size()));
      if (row.substr(0, kMarkBegin.size()) != kMarkBegin) continue;
      row.remove_prefix(kMarkBegin.size());
      const size_t end = row.find("\":");
      if (end == std::string_view::npos) continue;
      std::string_view place = row.substr(end + 2);
      const auto at = static_cast<int64_t>(take_number(&place));
      if (at != 0) marks.push_back({number, at, beside(*file, row.substr(0, end))});
    }
  }
  const auto after = std::upper_bound(marks.begin(), marks.end(), *line,
                                      [](int64_t c_line, const Mark& mark) { return c_line < mark.c_line; });
  if (after == marks.begin()) return false;
  const Mark& mark = *std::prev(after);
  *line = mark.line;
  *file = mark.file;
  return true;
}

}  // namespace memprof::profile
