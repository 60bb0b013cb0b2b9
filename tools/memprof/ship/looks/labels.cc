// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "memprof/console/failure.h"
#include "profile/names/characters/character_width.h"

namespace memprof::cli {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_control(const profile::Character& character) {
  return character.code < 0x20 || character.code == 0x7f;
}

bool is_text(const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const profile::Character character = profile::character_at(text, at);
    if (character.is_broken || is_control(character)) return false;
    at += character.length;
  }
  return true;
}

}  // namespace

void check_label_name(const std::string& option, const std::string& name) {
  const bool is_name =
      !name.empty() && is_letter(name[0]) && name.compare(0, 2, "__") != 0 &&
      std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
  if (!is_name) {
    throw Failure(option + ": '" + name +
                  "' is no name of a label: it takes letters, digits and _, no digit first, and no __ first");
  }
  if (name.size() > kMaxLabelNameBytes) {
    throw Failure(fmt::format("{}: the name '{}...' has {} bytes, more than {}", option, name.substr(0, 20),
                              name.size(), kMaxLabelNameBytes));
  }
}

void check_label_value(const std::string& option, const std::string& value) {
  if (value.empty()) throw Failure(option + ": the value is empty; leave the label out");
  if (value.size() > kMaxLabelValueBytes) {
    throw Failure(fmt::format("{}: the value '{}...' has {} bytes, more than {}; shorten it", option,
                              value.substr(0, 20), value.size(), kMaxLabelValueBytes));
  }
  if (!is_text(value)) throw Failure(option + ": the value is not text in UTF-8, or has control characters");
}

void add_label(const std::string& option, const std::string& text, Labels* labels) {
  const size_t equal = text.find('=');
  if (equal == std::string::npos) {
    throw Failure(option + ": '" + text + "' is not NAME=VALUE; give one like region=eu");
  }
  const std::string name = text.substr(0, equal);
  const std::string value = text.substr(equal + 1);
  check_label_name(option, name);
  check_label_value(option + " " + name, value);
  if (!labels->emplace(name, value).second) throw Failure(option + ": the label " + name + " is given twice");
  if (labels->size() > kMaxOwnLabels) {
    throw Failure(fmt::format("{}: more than {} labels; services make a series of each set of them", option,
                              kMaxOwnLabels));
  }
}

std::string bounded_label_value(const std::string& text) {
  std::string value;
  for (size_t at = 0; at < text.size();) {
    const profile::Character character = profile::character_at(text, at);
    if (value.size() + character.length > kMaxLabelValueBytes) break;
    if (character.is_broken || is_control(character)) {
      value += '_';
    } else {
      value.append(text, at, character.length);
    }
    at += character.length;
  }
  return value;
}

std::string label_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : " ") + name + "=\"" + value + "\"";
  return text;
}

std::string label_hash(const Labels& labels) {
  constexpr uint64_t kBasis = 0xcbf29ce484222325;  // FNV-1a
  constexpr uint64_t kPrime = 0x100000001b3;
  uint64_t hash = kBasis;
  const auto add = [&](const std::string& text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
    hash = hash * kPrime;  // the end of the text
  };
  for (const auto& [name, value] : labels) {
    add(name);
    add(value);
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace memprof::cli
