// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/function_match.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>

#include "profile/matching/pattern.h"
#include "profile/model/error.h"
#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

constexpr size_t kMaxSuggestions = 3;
constexpr size_t kLongestCompared = 64;  // of what is compared letter by letter

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool ends_with_words(std::string_view name, std::string_view text) {
  if (text.empty() || name.size() < text.size()) return false;
  const size_t begin = name.size() - text.size();
  return name.substr(begin) == text && (begin == 0 || !is_word(name[begin - 1]) || !is_word(text[0]));
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// `insert` of `ns::Cache::insert`.
std::string_view last_component(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && is_word(name[begin - 1])) --begin;
  return begin == name.size() ? name : name.substr(begin);
}

// Letters to add, take away or replace.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::vector<std::string> close_names(const std::vector<std::string>& names, const std::string& text) {
  const std::string wanted = lower(text);
  const std::string wanted_end(last_component(wanted));
  const size_t max = wanted_end.size() / 3 + 1;
  std::vector<std::pair<size_t, std::string_view>> found;
  for (const std::string& name : names) {
    const std::string plain = lower(plain_name(name));
    if (plain.find(wanted) != std::string::npos) {
      found.emplace_back(0, name);
      continue;
    }
    const std::string_view end = last_component(plain);
    const size_t difference =
        std::max(end.size(), wanted_end.size()) - std::min(end.size(), wanted_end.size());
    if (difference > max || std::max(end.size(), wanted_end.size()) > kLongestCompared) continue;
    const size_t distance = edit_distance(end, wanted_end);
    if (distance <= max) found.emplace_back(distance, name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> result;
  for (size_t i = 0; i < found.size() && i < kMaxSuggestions; ++i) result.emplace_back(found[i].second);
  return result;
}

}  // namespace

FunctionMatch find_functions(const std::vector<std::string>& names, const std::string& text) {
  FunctionMatch match;
  const auto take = [&](const std::function<bool(const std::string&)>& is_meant) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (is_meant(names[i])) match.functions.push_back(static_cast<uint32_t>(i));
    }
    return !match.functions.empty();
  };
  // Clones are the function.
  const auto shown = [](const std::string& name) { return shown_name(name, "", ""); };
  if (take([&](const std::string& name) { return name == text || shown(name) == text; })) return match;
  if (take([&](const std::string& name) { return ends_with_words(shown(name), text); })) return match;
  if (take([&](const std::string& name) { return ends_with_words(plain_name(name), text); })) return match;
  if (take([&](const std::string& name) { return name.find(text) != std::string::npos; })) return match;
  try {
    const Pattern pattern(text);
    if (take([&](const std::string& name) { return pattern.is_in(name); })) return match;
  } catch (const Error& error) {
    match.pattern_error = error.what();
  }
  match.suggestions = close_names(names, text);
  return match;
}

}  // namespace memprof::profile
