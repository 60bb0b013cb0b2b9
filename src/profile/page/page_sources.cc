// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_sources.h"

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestLine = 400;
constexpr int64_t kNextTo = 2;  // lines before and behind one that is named

struct Source {
  bool is_newer = false;
  std::vector<std::string> lines;
};

std::optional<Source> read(const std::string& path, const SourceRule& rule, uint64_t time_unix_ns) {
  const auto file = read_source_file(path, rule, kMaxSourceBytes);
  if (!file || file->text.find('\0') != std::string::npos) return std::nullopt;
  Source source;
  std::istringstream text(file->text);
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.size() > kLongestLine) line.resize(kLongestLine);
    source.lines.push_back(std::move(line));
  }
  if (source.lines.empty()) return std::nullopt;
  source.is_newer = time_unix_ns != 0 && file->changed_unix_ns > time_unix_ns;
  return source;
}

Json as_json(const Source& source, const Json& lines) {
  return {{"is_newer", source.is_newer}, {"lines", lines}};
}

// Of each source file that the profile names by its whole path.
std::map<std::string, std::set<int64_t>> lines_of(const Profile& profile) {
  std::map<std::string, std::set<int64_t>> lines;
  for (const Location& location : profile.locations) {
    for (const Line& line : location.lines) {
      const std::string& path = profile.functions[line.function].filename;
      if (!path.empty() && path.front() == '/' && line.line > 0) lines[path].insert(line.line);
    }
  }
  return lines;
}

}  // namespace

Json read_source(const std::string& path, const SourceRule& rule, uint64_t time_unix_ns) {
  const auto source = read(path, rule, time_unix_ns);
  if (!source) return nullptr;
  Json lines = Json::object();
  for (size_t i = 0; i < source->lines.size(); ++i) lines[std::to_string(i + 1)] = source->lines[i];
  return as_json(*source, lines);
}

Json read_sources(const Profile& profile, const SourceRule& rule, size_t max_bytes) {
  Json files = Json::object();
  size_t bytes = 0;
  for (const auto& [path, named] : lines_of(profile)) {
    const auto source = read(path, rule, profile.time_unix_ns);
    if (!source) continue;
    std::set<int64_t> wanted;
    for (const int64_t line : named) {
      for (int64_t i = line - kNextTo; i <= line + kNextTo; ++i) {
        if (i > 0 && i <= static_cast<int64_t>(source->lines.size())) wanted.insert(i);
      }
    }
    Json lines = Json::object();
    for (const int64_t line : wanted) {
      const std::string& text = source->lines[static_cast<size_t>(line - 1)];
      bytes += text.size();
      lines[std::to_string(line)] = text;
    }
    if (bytes > max_bytes) break;
    if (!lines.empty()) files[path] = as_json(*source, lines);
  }
  return files;
}

}  // namespace memprof::profile
