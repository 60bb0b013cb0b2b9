// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/code_name.h"

namespace memprof::v8 {
namespace {

constexpr std::string_view kTopLevel = "(top level)";
constexpr std::string_view kAnonymous = "(anonymous)";
constexpr std::string_view kInternal = "node:";
constexpr std::string_view kEvalWrapper = " [eval]-wrapper:";  // that `node -e` runs the program from
// What continues an async function, whose caller by then is the queue of microtasks: AsyncFunctionAwaitResolveClosure,
// AsyncGeneratorAwaitRejectClosure ...
constexpr std::string_view kResumeBegin = "Builtin:Async";
constexpr std::string_view kResumeMiddle = "Await";
constexpr std::string_view kResumeEnd = "Closure";
constexpr std::string_view kAsync = "(async)";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes ":123" from the end of `text`.
bool take_number(std::string_view* text, uint32_t* number) {
  constexpr size_t kMaxDigits = 9;
  size_t digits = 0;
  while (digits < text->size() && is_digit((*text)[text->size() - 1 - digits])) {
    ++digits;
  }
  if (digits == 0 || digits > kMaxDigits || digits == text->size() ||
      (*text)[text->size() - 1 - digits] != ':') {
    return false;
  }
  *number = 0;
  for (const char c : tail(*text, text->size() - digits)) {
    *number = *number * 10 + static_cast<uint32_t>(c - '0');
  }
  text->remove_suffix(digits + 1);
  return true;
}

// Of what code of scripts is: V8's own words before the colon.
bool is_of_script(std::string_view kind) {
  for (const std::string_view known :
       {"JS", "Script", "Eval", "LazyCompile", "Function", "InterpretedFunction"}) {
    if (kind == known) {
      return true;
    }
  }
  return false;
}

bool resumes_async_function(std::string_view text) {
  return head(text, kResumeBegin.size()) == kResumeBegin && text.size() > kResumeEnd.size() &&
         tail(text, text.size() - kResumeEnd.size()) == kResumeEnd &&
         text.find(kResumeMiddle) != std::string_view::npos;
}

}  // namespace

TierMark find_tier_mark(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || !is_of_script(head(text, colon))) {
    return {0, 0};
  }
  // [o] and one of ~ ^ * + and ['], in this order.
  size_t end = colon + 1;
  end += end + 1 < text.size() && text[end] == 'o' && (text[end + 1] == '*' || text[end + 1] == '+') ? 1 : 0;
  if (end == text.size() || std::string_view("~^*+").find(text[end]) == std::string_view::npos) {
    return {0, 0};
  }
  ++end;
  end += end < text.size() && text[end] == '\'' ? 1 : 0;
  return {static_cast<uint32_t>(colon + 1), static_cast<uint32_t>(end - colon - 1)};
}

bool is_function_code(std::string_view text) {
  const std::string_view kind = head(text, text.find(':'));
  return kind.size() != text.size() && is_of_script(kind) && kind != "Script" && kind != "Eval";
}

bool is_baseline(std::string_view text) {
  const TierMark mark = find_tier_mark(text);
  return mark.size_bytes != 0 && text[mark.at] == '^';
}

CodeName parse_code_name(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || !is_of_script(head(text, colon))) {
    return {resumes_async_function(text) ? kAsync : text.empty() ? kAnonymous : text, {}, 0};
  }
  const std::string_view kind = head(text, colon);
  const TierMark mark = find_tier_mark(text);
  text.remove_prefix(mark.size_bytes != 0 ? mark.at + mark.size_bytes : colon + 1);
  // "function file:line[:column]"; a function's name has no space, a file may have some.
  CodeName name;
  uint32_t last = 0;
  uint32_t before = 0;
  bool is_at_begin = true;  // of the file, as far as is known
  if (take_number(&text, &last)) {
    const bool has_column = take_number(&text, &before);
    name.line = has_column ? before : last;
    is_at_begin = name.line == 1 && (!has_column || last == 1);
  }
  // Accessors and computed names: "get size", "set x", "[Symbol.iterator]", "static fields".
  size_t space = text.find(' ');
  for (const std::string_view prefix : {"get ", "set ", "async "}) {
    if (head(text, prefix.size()) == prefix && text.find(' ', prefix.size()) != std::string_view::npos) {
      space = text.find(' ', prefix.size());
      break;
    }
  }
  name.function = head(text, space);
  name.file = space == std::string_view::npos ? std::string_view() : tail(text, space + 1);
  if (name.function.empty()) {
    name.function = kind == "Script" || kind == "Eval" || is_at_begin ? kTopLevel : kAnonymous;
  }
  return name;
}

bool is_internal_file(std::string_view file) {
  return head(file, kInternal.size()) == kInternal;
}

bool is_internal_code(std::string_view text) {
  const size_t space = text.find(' ');
  return space == std::string_view::npos || text.find(" node:", 0) != std::string_view::npos ||
         text.find(kEvalWrapper) != std::string_view::npos;
}

}  // namespace memprof::v8
