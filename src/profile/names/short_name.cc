// SPDX-License-Identifier: Apache-2.0
#include "profile/names/short_name.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "format/affixes.h"
#include "profile/names/characters/character_width.h"

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

void replace_all(std::string_view part, std::string_view instead, std::string* text) {
  std::string result;
  size_t begin = 0;
  for (size_t at; (at = text->find(part, begin)) != std::string::npos; begin = at + part.size()) {
    result.append(*text, begin, at - begin).append(instead);
  }
  if (begin != 0) *text = result.append(*text, begin);
}

// What stands for the contents of a pair of brackets.
enum class Content { kNothing, kMark };

// Replaces what stands between the outermost `open` and `close`: in the last pair by `last`, in the others by
// nothing.  Text with brackets that do not pair stays.
std::string collapse(const std::string& name, char open, char close, Content last) {
  std::string result;
  size_t depth = 0;
  size_t last_filled = std::string::npos;  // in `result`, where the content of the last filled pair was
  for (size_t i = 0; i < name.size(); ++i) {
    if (const size_t length = operator_length(name, i); length != 0) {
      if (depth == 0) result.append(name, i, length);
      i += length - 1;
      continue;
    }
    if (name[i] == close && depth > 0 && --depth == 0) {
      last_filled = name[i - 1] == open ? last_filled : result.size();
    }
    if (depth == 0) result += name[i];
    if (name[i] == open) ++depth;
  }
  if (depth != 0) return name;
  if (last == Content::kMark && last_filled != std::string::npos) result.insert(last_filled, kEllipsis);
  return result;
}

// `(anonymous namespace)` is part of a name.
std::string collapse_parameters(const std::string& name, Content last) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  constexpr std::string_view kStandIn = "\1";
  std::string text = name;
  replace_all(kAnonymous, kStandIn, &text);
  text = collapse(text, '(', ')', last);
  replace_all(kStandIn, kAnonymous, &text);
  return text;
}

// Template arguments as `<>`.  What stands in such brackets and follows no name is one itself: `<module>`,
// `<anonymous>`, `<Vec<T> as Clone>::clone`, of which the inner ones go.
std::string without_template_arguments(const std::string& name) {
  std::string result;
  size_t depth = 0;           // of those that are left out
  std::vector<bool> is_name;  // of those that are open
  for (size_t i = 0; i < name.size(); ++i) {
    if (const size_t length = operator_length(name, i); length != 0) {
      if (depth == 0) result.append(name, i, length);
      i += length - 1;
      // `operator()<int>`, `operator<< <int>`
      const size_t arguments = name.compare(i + 1, 2, " <") == 0 ? i + 2 : i + 1;
      if (arguments < name.size() && name[arguments] == '<') {
        if (depth++ == 0) result.append(name, i + 1, arguments - i);
        is_name.push_back(false);
        i = arguments;
      }
      continue;
    }
    const char c = name[i];
    if (c == '<') {
      const bool is_arguments = i > 0 && (is_identifier(name[i - 1]) || name[i - 1] == ':' ||
                                          name[i - 1] == ']' || name[i - 1] == '}' || depth > 0);
      if (depth == 0) result += c;
      is_name.push_back(!is_arguments);
      if (is_arguments) ++depth;
    } else if (c == '>' && i > 0 && name[i - 1] == '-') {  // `->` of a type
      if (depth == 0) result += c;
    } else if (c == '>') {
      if (is_name.empty()) return name;
      if (!is_name.back()) --depth;
      is_name.pop_back();
      if (depth == 0) result += c;
    } else if (depth == 0) {
      result += c;
    }
  }
  return is_name.empty() ? result : name;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes `.isra.0`, `.part.3`, `.cold` off the end.
void drop_clone_suffixes(std::string* name) {
  constexpr std::string_view kNumbered[] = {"isra", "part", "constprop", "lto_priv", "llvm", "cold"};
  constexpr std::string_view kAlone[] = {"cold", "localalias"};
  while (true) {
    const std::string_view text = *name;
    size_t dot = text.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return;
    std::string_view word = text.substr(dot + 1);
    const bool has_number = is_digits(word);
    if (has_number) {
      const size_t end = dot;
      dot = text.rfind('.', dot - 1);
      if (dot == std::string_view::npos || dot == 0) return;
      word = text.substr(dot + 1, end - dot - 1);
    }
    const bool is_suffix =
        has_number ? std::find(std::begin(kNumbered), std::end(kNumbered), word) != std::end(kNumbered)
                   : std::find(std::begin(kAlone), std::end(kAlone), word) != std::end(kAlone);
    if (!is_suffix) return;
    name->erase(dot);
  }
}

void drop_clones(std::string* name) {
  constexpr std::string_view kClone = " [clone ";
  for (size_t at; !name->empty() && name->back() == ']' && (at = name->rfind(kClone)) != std::string::npos;) {
    name->erase(at);
  }
  drop_clone_suffixes(name);
}

// As much of its beginning (or end) as takes at most `width` columns.
std::string_view head(std::string_view text, size_t width) {
  size_t end = 0;
  while (end < text.size()) {
    const Character character = character_at(text, end);
    if (character.width > width) break;
    width -= character.width;
    end += character.length;
  }
  return text.substr(0, end);
}

std::string_view tail(std::string_view text, size_t width) {
  size_t begin = text.size();
  while (begin > 0) {
    size_t at = begin - 1;
    while (at > 0 && is_continuation(text[at])) --at;
    const size_t columns = text_width(text.substr(at, begin - at));
    if (columns > width) break;
    width -= columns;
    begin = at;
  }
  return text.substr(begin);
}

}  // namespace

size_t text_width(std::string_view text) {
  size_t width = 0;
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    width += character.width;
    at += character.length;
  }
  return width;
}

std::string short_name(const std::string& name, size_t width) {
  if (text_width(name) <= width) return name;
  std::string text = collapse_parameters(name, Content::kMark);
  if (text_width(text) <= width) return text;
  text = collapse_parameters(name, Content::kNothing);
  if (width <= 1) return width == 0 ? std::string() : std::string(kEllipsis);
  const size_t kept = width - 1;
  // The end of a name says more than its middle.
  const size_t back = kept / 2;
  return std::string(head(text, kept - back)) + kEllipsis + std::string(tail(text, back));
}

// The end of a path is what tells files apart.
std::string short_path(const std::string& path, size_t width) {
  if (text_width(path) <= width || width == 0) return path;
  return kEllipsis + std::string(tail(path, width - 1));
}

std::string plain_name(const std::string& name) {
  std::string text = without_template_arguments(collapse_parameters(name, Content::kNothing));
  replace_all("::<>", "", &text);  // Rust's
  replace_all("<>", "", &text);
  // Parameters end a name, but for `const` and `[clone .cold]`.
  const size_t at = text.rfind("()");
  constexpr std::string_view kOperator = "operator";
  const bool is_operator = at != std::string::npos && at >= kOperator.size() &&
                           text.compare(at - kOperator.size(), kOperator.size(), kOperator) == 0;
  if (at != std::string::npos && at != 0 && !is_operator) text.erase(at);
  return text;
}

std::optional<std::string_view> without_return_type(std::string_view name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  size_t begin = 0;  // after the last space outside of brackets
  size_t depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (depth == 0 && operator_length(name, i) != 0) return name.substr(begin);
    if (name.compare(i, kAnonymous.size(), kAnonymous) == 0) {
      i += kAnonymous.size() - 1;
    } else if (c == '(' && depth == 0 && !ends_with(name.substr(0, i), "decltype") &&
               !ends_with(name.substr(0, i), "decltype ")) {
      // Parameters follow a name; a function that returns a pointer to one is written around its name.
      return i == begin ? std::nullopt : std::optional(name.substr(begin));
    } else if (c == '(' || c == '<' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}' || (c == '>' && name[i - std::min<size_t>(i, 1)] != '-')) {
      if (depth == 0) return std::nullopt;
      --depth;
    } else if (c == ' ' && depth == 0) {
      begin = i + 1;
    }
  }
  return depth == 0 && begin == 0 ? std::optional(name) : std::nullopt;
}

std::string shown_name(const std::string& name, const std::string& symbol, const std::string& file) {
  std::string text = name;
  if (!ends_with(file, ".go")) drop_clones(&text);  // its functions can be called `main.cold`
  if (symbol.compare(0, 2, "_Z") == 0) {
    if (const auto begin = without_return_type(text)) text = std::string(*begin);
  }
  text = without_template_arguments(text);
  for (const auto& [part, instead] : {std::pair<std::string_view, std::string_view>{"::<>", ""},
                                      {"[abi:cxx11]", ""},
                                      {"std::__cxx11::", "std::"},
                                      {"std::__1::", "std::"}}) {
    replace_all(part, instead, &text);
  }
  return text.empty() ? name : text;
}

std::string shown_module(const std::string& module) {
  const size_t begin = module.find(".cpython-");
  const size_t end = begin == std::string::npos ? begin : module.find(".so", begin);
  return end == std::string::npos ? module : module.substr(0, begin) + module.substr(end);
}

}  // namespace memprof::profile
