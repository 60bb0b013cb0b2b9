// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/rewrite.h"

#include <re2/re2.h>

#include <algorithm>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_number(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Rewrite::Rewrite(const std::string& expression, const std::string& form) {
  RE2::Options options;
  options.set_log_errors(false);  // on standard error, and not ours
  auto compiled = std::make_shared<const RE2>(expression, options);
  if (!compiled->ok()) {
    throw Error("'" + expression + "' is not a regular expression: " + compiled->error());
  }
  expression_ = std::move(compiled);
  read_form(form);
}

void Rewrite::read_form(const std::string& form) {
  std::string text;
  for (size_t at = 0; at < form.size();) {
    if (form[at] != '$') {
      text += form[at++];
      continue;
    }
    const size_t name_at = at + 1;
    if (name_at < form.size() && form[name_at] == '$') {
      text += '$';
      at += 2;
      continue;
    }
    const bool is_braced = name_at < form.size() && form[name_at] == '{';
    size_t end = is_braced ? form.find('}', name_at) : name_at;
    if (!is_braced) {
      while (end < form.size() && is_of_name(form[end])) ++end;
    }
    const size_t begin = name_at + (is_braced ? 1 : 0);
    if (end == std::string::npos || end == begin) {
      throw Error("'" + form + "': $ begins a group, like $1 or ${name}; write $$ for a dollar");
    }
    form_.push_back({std::move(text), -1});
    text.clear();
    form_.push_back(group_called(form.substr(begin, end - begin), form));
    at = end + (is_braced ? 1 : 0);
  }
  form_.push_back({std::move(text), -1});
}

Rewrite::Part Rewrite::group_called(const std::string& name, const std::string& form) const {
  if (is_number(name)) {
    constexpr size_t kMaxDigits = 4;
    const int group = name.size() <= kMaxDigits ? std::stoi(name) : -1;
    if (group >= 0 && group <= expression_->NumberOfCapturingGroups()) return {"", group};
  } else if (const auto& groups = expression_->NamedCapturingGroups(); groups.count(name) != 0) {
    return {"", groups.at(name)};
  }
  std::string advice;
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits != 0 && digits != name.size()) {
    advice = "; write ${" + name.substr(0, digits) + "} where letters follow";
  }
  throw Error("'" + form + "' names the group '" + name + "', which '" + expression_->pattern() +
              "' does not have" + advice);
}

bool Rewrite::matches(std::string_view text) const {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

std::optional<std::string> Rewrite::apply(std::string_view text) const {
  int most = 0;
  for (const Part& part : form_) most = std::max(most, part.group);
  std::vector<re2::StringPiece> groups(static_cast<size_t>(most) + 1);
  const re2::StringPiece whole(text.data(), text.size());
  if (!expression_->Match(whole, 0, text.size(), RE2::ANCHOR_BOTH, groups.data(), most + 1))
    return std::nullopt;
  std::string result;
  for (const Part& part : form_) {
    if (part.group < 0) {
      result += part.text;
    } else {
      const re2::StringPiece& group = groups[static_cast<size_t>(part.group)];
      result.append(group.data() != nullptr ? group.data() : "", group.size());
    }
  }
  return result;
}

}  // namespace memprof::profile
