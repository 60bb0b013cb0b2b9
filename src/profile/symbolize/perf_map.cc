// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/perf_map.h"

#include <algorithm>
#include <charconv>

namespace memprof::profile {
namespace {

constexpr size_t kMostNameBytes = 4096;

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

}  // namespace

JitFrame frame_of_jit_name(std::string_view name) {
  JitFrame frame;
  for (const std::string_view tag : {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"}) {
    if (name.compare(0, tag.size(), tag) != 0) continue;
    std::string_view rest = name.substr(tag.size());
    if (!rest.empty() && std::string_view("~^+*'").find(rest[0]) != std::string_view::npos)
      rest.remove_prefix(1);
    // `name file:line:column`: the position is that of the function, not of the call.
    std::string_view place = rest;
    if (!take_position(&place)) break;  // the column
    if (!take_position(&place)) break;  // the line
    const size_t space = place.find(' ');
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
      names[static_cast<size_t>(address - addresses.begin())] = line.substr(0, kMostNameBytes);
    }
  }
  std::vector<JitFrame> frames(addresses.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) frames[i] = frame_of_jit_name(names[i]);
  }
  return frames;
}

}  // namespace memprof::profile
