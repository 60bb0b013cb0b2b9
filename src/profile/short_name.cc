// SPDX-License-Identifier: Apache-2.0
#include "profile/short_name.h"

#include <algorithm>
#include <cctype>

namespace memprof::profile {
namespace {

constexpr const char kEllipsis[] = "…";

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Length of an operator's own brackets at `at` (`operator<<`, `operator->`, `operator()`), which are no
// brackets.
size_t operator_length(std::string_view name, size_t at) {
  constexpr std::string_view kWord = "operator";
  if (name.compare(at, kWord.size(), kWord) != 0 || (at > 0 && is_identifier(name[at - 1]))) return 0;
  size_t end = at + kWord.size();
  if (name.compare(end, 2, "()") == 0) return kWord.size() + 2;
  while (end < name.size() && std::string_view("<>-=!").find(name[end]) != std::string_view::npos) ++end;
  return end - at;
}

// Replaces what stands between the outermost `open` and `close`. Text with brackets that do not pair stays.
std::string collapse(const std::string& name, char open, char close) {
  std::string result;
  size_t depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    if (const size_t length = operator_length(name, i); length != 0) {
      if (depth == 0) result.append(name, i, length);
      i += length - 1;
      continue;
    }
    if (name[i] == close && depth > 0 && --depth == 0) {
      result += name[i - 1] == open ? "" : kEllipsis;
    }
    if (depth == 0) result += name[i];
    if (name[i] == open) ++depth;
  }
  return depth == 0 ? result : name;
}

// `(anonymous namespace)` is part of a name.
std::string collapse_parameters(const std::string& name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  constexpr char kStandIn = '\1';
  std::string text = name;
  for (size_t at; (at = text.find(kAnonymous)) != std::string::npos;) {
    text.replace(at, kAnonymous.size(), 1, kStandIn);
  }
  std::string result;
  for (const char c : collapse(text, '(', ')')) {
    if (c == kStandIn) {
      result += kAnonymous;
    } else {
      result += c;
    }
  }
  return result;
}

// The first (or last) `count` characters.
std::string_view head(std::string_view text, size_t count) {
  size_t end = 0;
  while (end < text.size() && (count > 0 || is_continuation(text[end]))) {
    if (!is_continuation(text[end])) --count;
    ++end;
  }
  return text.substr(0, end);
}

std::string_view tail(std::string_view text, size_t count) {
  size_t begin = text.size();
  while (begin > 0 && count > 0) {
    --begin;
    if (!is_continuation(text[begin])) --count;
  }
  return text.substr(begin);
}

}  // namespace

size_t text_width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) width += is_continuation(c) ? 0 : 1;
  return width;
}

std::string short_name(const std::string& name, size_t width) {
  if (text_width(name) <= width) return name;
  std::string text = collapse_parameters(name);
  if (text_width(text) <= width) return text;
  text = collapse(text, '<', '>');
  if (text_width(text) <= width) return text;
  if (width <= 1) return width == 0 ? std::string() : std::string(kEllipsis);
  const size_t kept = width - 1;
  // The end of a name says more than its middle.
  const size_t back = kept / 2;
  return std::string(head(text, kept - back)) + kEllipsis + std::string(tail(text, back));
}

std::string plain_name(const std::string& name) {
  std::string text = collapse(collapse_parameters(name), '<', '>');
  for (const std::string mark : {"<…>", "<>"}) {
    for (size_t at; (at = text.find(mark)) != std::string::npos;) text.erase(at, mark.size());
  }
  // Parameters end a name, but for `const` and `[clone .cold]`.
  size_t end = 0;
  for (const std::string mark : {"(…)", "()"}) {
    const size_t at = text.rfind(mark);
    constexpr std::string_view kOperator = "operator";
    const bool is_operator = at != std::string::npos && at >= kOperator.size() &&
                             text.compare(at - kOperator.size(), kOperator.size(), kOperator) == 0;
    if (at != std::string::npos && !is_operator) end = std::max(end, at);
  }
  if (end != 0) text.erase(end);
  return text;
}

}  // namespace memprof::profile
