// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/source_map.h"

#include <algorithm>
#include <utility>

#include "profile/symbolize/source_maps/mappings.h"
#include "profile/symbolize/source_maps/source_map_json.h"

namespace memprof::profile {
namespace {

// Compilers join the lines of one statement; what is farther apart are several.
constexpr uint32_t kMaxApart = 16;

// The script by lines, for columns, which are counted in units of UTF-16: those of a line up to its first other character than
// ASCII are bytes.
class ScriptLines {
 public:
  explicit ScriptLines(std::string_view script) {
    while (!script.empty()) {
      const size_t end = std::min(script.find('\n'), script.size());
      const std::string_view line = script.substr(0, end);
      const auto* const other = std::find_if(line.begin(), line.end(),
                                             [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
      lines_.push_back(line.substr(0, static_cast<size_t>(other - line.begin())));
      script.remove_prefix(std::min(end + 1, script.size()));
    }
  }

  // Empty: there is none.
  std::string_view identifier_at(uint32_t line, uint32_t column) const {
    if (line >= lines_.size() || column >= lines_[line].size()) return {};
    const std::string_view rest = lines_[line].substr(column);
    size_t size = 0;
    while (size < rest.size() && is_of_identifier(rest[size])) ++size;
    return rest.substr(0, size);
  }

 private:
  static bool is_of_identifier(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '#';
  }

  std::vector<std::string_view> lines_;
};

std::string with_root(const std::string& root, const std::string& source) {
  return root.empty() || source.empty() ? source : root.back() == '/' ? root + source : root + '/' + source;
}

}  // namespace

SourceMap::SourceMap(std::string_view text, std::string_view script) {
  const ScriptLines script_lines(script);
  for (const SourceMapPart& part : read_source_map_json(text)) {
    const size_t first_source = sources_.size();
    for (const std::string& source : part.sources) sources_.push_back(with_root(part.source_root, source));
    decode_mappings(part.mappings, [&](const MappedPlace& place) {
      const size_t source = first_source + place.source;
      if (!place.has_source || source >= sources_.size() || sources_[source].empty()) return;
      if (place.line > UINT32_MAX - part.line) return;
      const uint32_t line = part.line + place.line;
      add_place(line, static_cast<uint32_t>(source), place.source_line);
      if (!place.has_name || place.name >= part.names.size()) return;
      const uint64_t column = uint64_t{place.column} + (place.line == 0 ? part.column : 0);
      const std::string_view name = column > UINT32_MAX
                                        ? std::string_view()
                                        : script_lines.identifier_at(line, static_cast<uint32_t>(column));
      if (!name.empty()) add_name(std::string(name), part.names[place.name]);
    });
  }
}

void SourceMap::add_place(uint32_t line, uint32_t source, uint32_t source_line) {
  const auto [known, is_new] =
      lines_.emplace(line, OfLine{source, source_line, source_line, source_line, false});
  if (is_new) return;
  OfLine& own = known->second;
  own.min = std::min(own.min, source_line);
  own.max = std::max(own.max, source_line);
  own.is_of_many = own.is_of_many || own.source != source || own.max - own.min > kMaxApart;
}

void SourceMap::add_name(const std::string& in_script, const std::string& in_source) {
  const auto [known, is_new] = names_.emplace(in_script, in_source);
  if (!is_new && known->second != in_source) known->second.clear();
}

SourceMap::Answer SourceMap::find(int64_t line, SourceLine* result) const {
  if (line <= 0 || line > UINT32_MAX) return Answer::kNone;
  const auto known = lines_.find(static_cast<uint32_t>(line - 1));
  if (known == lines_.end()) return Answer::kNone;
  if (known->second.is_of_many) return Answer::kMany;
  *result = {&sources_[known->second.source], int64_t{known->second.first} + 1};
  return Answer::kOne;
}

const std::string* SourceMap::source_name(const std::string& name) const {
  const auto known = names_.find(name);
  return known != names_.end() && !known->second.empty() && known->second != name ? &known->second : nullptr;
}

}  // namespace memprof::profile
