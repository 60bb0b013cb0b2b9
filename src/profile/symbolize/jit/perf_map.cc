// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/jit/perf_map.h"

#include <algorithm>
#include <charconv>

namespace memprof::profile {
namespace {

// Takes a hexadecimal number and the space after it off the text.
bool take_number(std::string_view* text, uint64_t* number) {
  if (text->compare(0, 2, "0x") == 0) text->remove_prefix(2);
  const char* end = text->data() + text->size();
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): its end is given
  const auto [rest, error] = std::from_chars(text->data(), end, *number, 16);
  if (error != std::errc() || rest == end || *rest != ' ') return false;
  text->remove_prefix(static_cast<size_t>(rest - text->data()) + 1);
  return true;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes `:12` off the end of the text.
bool take_position(std::string_view* text) {
  const size_t colon = text->rfind(':');
  if (colon == std::string_view::npos || !all_digits(text->substr(colon + 1))) return false;
  *text = text->substr(0, colon);
  return true;
}

// V8 marks the compiler: `~` interpreter, `^` Sparkplug, `+` Maglev, `*` TurboFan; and `'`, since node 24,
// code that is for one closure.
std::string_view without_tier(std::string_view text) {
  if (!text.empty() && std::string_view("~^+*").find(text[0]) != std::string_view::npos)
    text.remove_prefix(1);
  if (!text.empty() && text[0] == '\'') text.remove_prefix(1);
  return text;
}

// Whether a path or a URL begins here: `/app/a.js`, `node:fs`, `file:///app/a.mjs`.
bool is_path(std::string_view text) {
  if (text.empty()) return false;
  const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  return text[0] == '/' || (end != 0 && end != std::string_view::npos && text[end] == ':');
}

// The space between a function and its file; both may have spaces in them (`get size /app/a b.js`).
size_t file_space(std::string_view place) {
  for (size_t at = place.find(' '); at != std::string_view::npos; at = place.find(' ', at + 1)) {
    if (is_path(place.substr(at + 1))) return at;
  }
  // `evalmachine.<anonymous>`, or no file at all.
  const bool is_accessor = place.compare(0, 4, "get ") == 0 || place.compare(0, 4, "set ") == 0;
  const size_t first = place.find(' ');
  const size_t second = is_accessor ? place.find(' ', first + 1) : std::string_view::npos;
  return second != std::string_view::npos ? second : first;
}

}  // namespace

JitFrame frame_of_jit_name(std::string_view name) {
  JitFrame frame;
  for (const std::string_view tag : {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"}) {
    if (name.compare(0, tag.size(), tag) != 0) continue;
    // `name file:line:column`, without the column up to node 18: where the function begins, not the call.
    std::string_view place = without_tier(name.substr(tag.size()));
    if (!take_position(&place)) break;
    take_position(&place);
    const size_t space = file_space(place);
    if (space == std::string_view::npos) break;
    const std::string_view function = place.substr(0, space);
    frame.name = function.empty() ? std::string("(anonymous)") : std::string(function);
    if (tag == "Eval:" || tag == "Script:") frame.name = "(program)";
    frame.file = place.substr(space + 1);
    return frame;
  }
  frame.name = name;
  return frame;
}

std::vector<JitFrame> read_perf_map(std::string_view text, const std::vector<uint64_t>& addresses) {
  std::vector<std::string_view> names(addresses.size());
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    uint64_t start = 0;
    uint64_t size = 0;
    if (!take_number(&line, &start) || !take_number(&line, &size) || line.empty()) continue;
    auto address = std::lower_bound(addresses.begin(), addresses.end(), start);
    for (; address != addresses.end() && *address - start < size; ++address) {
      names[static_cast<size_t>(address - addresses.begin())] = line.substr(0, kMaxJitNameBytes);
    }
  }
  std::vector<JitFrame> frames(addresses.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) frames[i] = frame_of_jit_name(names[i]);
  }
  return frames;
}

}  // namespace memprof::profile
