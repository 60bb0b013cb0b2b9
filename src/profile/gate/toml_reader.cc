// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/toml_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <utility>

#include <toml++/toml.h>

#include "profile/model/error.h"
#include "profile/text/nearest_name.h"

namespace memprof::profile {
namespace {

const toml::table& as_table(const void* table) {
  return *static_cast<const toml::table*>(table);
}

int line_in(const toml::source_region& source) {
  return static_cast<int>(source.begin.line);
}

}  // namespace

std::optional<std::string> text_of_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (stream) text << stream.rdbuf();
  if (!stream || text.fail()) return std::nullopt;
  return text.str();
}

struct TomlReader::File {
  std::string path;
  toml::table root;
};

TomlReader TomlReader::parse(const std::string& text, const std::string& path) {
  auto file = std::make_shared<File>();
  file->path = path;
  try {
    file->root = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw Error(fmt::format("{}:{}: not TOML: {}", path, error.source().begin.line, error.description()));
  }
  const void* root = &file->root;
  return {std::move(file), root};
}

int TomlReader::line() const {
  return std::max(line_in(as_table(table_).source()), 1);
}

int TomlReader::line_of(const std::string& key) const {
  for (const auto& [name, value] : as_table(table_)) {
    if (name.str() == key) return line_in(name.source());
  }
  return line();
}

bool TomlReader::has(const std::string& key) const {
  return as_table(table_).contains(key);
}

std::vector<std::string> TomlReader::names() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : as_table(table_)) names.emplace_back(name.str());
  return names;
}

void TomlReader::require_known(const std::vector<std::string>& known, const std::string& where) const {
  for (const std::string& name : names()) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string all;
    for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
    const std::string nearest = nearest_name(name, known);
    refuse_line(line_of(name), fmt::format("'{}' is no key {}; {}", name, where,
                                           nearest.empty() ? "there are " + all
                                                           : fmt::format("did you mean '{}'?", nearest)));
  }
}

std::string TomlReader::text(const std::string& key) const {
  const auto value = as_table(table_)[key].value_exact<std::string>();
  if (!value) refuse(key, "give a text in quotes");
  return *value;
}

std::string TomlReader::text_or_number(const std::string& key) const {
  const auto node = as_table(table_)[key];
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto whole = node.value_exact<int64_t>()) return fmt::format("{}", *whole);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  refuse(key, "give a number, or a text in quotes");
}

double TomlReader::number(const std::string& key) const {
  constexpr double kMax = 1e15;
  const auto node = as_table(table_)[key];
  double number = -1;
  if (const auto whole = node.value_exact<int64_t>()) {
    number = static_cast<double>(*whole);
  } else if (const auto exact = node.value_exact<double>()) {
    number = *exact;
  }
  if (!std::isfinite(number) || number < 0 || number > kMax)
    refuse(key, "give a number without a unit and without quotes, 0 or more");
  return number;
}

bool TomlReader::boolean(const std::string& key) const {
  const auto value = as_table(table_)[key].value_exact<bool>();
  if (!value) refuse(key, "give true or false");
  return *value;
}

std::vector<std::string> TomlReader::texts(const std::string& key, Lists lists) const {
  const auto node = as_table(table_)[key];
  if (lists == Lists::kToo && node.is_string()) return {text(key)};
  const char* how = lists == Lists::kToo ? "give a text in quotes, or a list of them"
                                         : "give a list of texts, like [\"./server\", \"--once\"]";
  if (!node.is_array()) refuse(key, how);
  std::vector<std::string> texts;
  for (const toml::node& element : *node.as_array()) {
    const auto value = element.value_exact<std::string>();
    if (!value) refuse(key, how);
    texts.push_back(*value);
  }
  return texts;
}

std::vector<uint64_t> TomlReader::counts(const std::string& key) const {
  const auto node = as_table(table_)[key];
  std::vector<uint64_t> counts;
  const auto add = [&](const toml::node& element) {
    const auto value = element.value_exact<int64_t>();
    if (!value || *value < 0) refuse(key, "give whole numbers, 0 or more");
    counts.push_back(static_cast<uint64_t>(*value));
  };
  if (node.is_array()) {
    for (const toml::node& element : *node.as_array()) add(element);
  } else {
    add(*node.node());
  }
  return counts;
}

std::vector<TomlReader> TomlReader::tables(const std::string& key) const {
  std::vector<TomlReader> tables;
  if (!has(key)) return tables;
  const auto node = as_table(table_)[key];
  const auto refuse_it = [&] { refuse(key, fmt::format("write it as a table in a list: [[{}]]", key)); };
  if (!node.is_array()) refuse_it();
  for (const toml::node& element : *node.as_array()) {
    if (!element.is_table()) refuse_it();
    tables.push_back({file_, element.as_table()});
  }
  return tables;
}

void TomlReader::refuse(const std::string& key, const std::string& why) const {
  refuse_line(key.empty() ? line() : line_of(key), key.empty() ? why : key + ": " + why);
}

void TomlReader::refuse_line(int line, const std::string& why) const {
  throw Error(fmt::format("{}:{}: {}", file_->path, line, why));
}

}  // namespace memprof::profile
