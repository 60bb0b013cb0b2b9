// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/source_map_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxTexts = size_t{1} << 22;  // sources and names of all parts
constexpr uint64_t kMaxOffset = uint64_t{1} << 30;
constexpr uint64_t kVersion = 3;

// Takes what it wants of the events of a parser, and holds nothing else.
class Reader : public nlohmann::json_sax<Json> {
 public:
  std::vector<SourceMapPart> take() {
    if (parts_.empty()) throw Error("is no source map: a value without members");
    // The map itself; or its sections, where it has some.
    if (parts_.size() > 1) parts_.erase(parts_.begin());
    return std::move(parts_);
  }

  bool null() override { return text_in_list({}); }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }

  bool number_unsigned(number_unsigned_t value) override {
    if (is_in(Where::kMap) && key_ == "version" && value != kVersion) {
      throw Error("is a source map of version " + std::to_string(value) + "; version 3 can be read");
    }
    if (is_in(Where::kOffset)) {
      if (value > kMaxOffset) throw Error("a section has no place in any file");
      if (key_ == "line") parts_.back().line = static_cast<uint32_t>(value);
      if (key_ == "column") parts_.back().column = static_cast<uint32_t>(value);
    }
    return true;
  }

  bool string(string_t& value) override {
    if (!is_in(Where::kMap)) return text_in_list(value);
    if (key_ == "mappings") {
      parts_.back().mappings = std::move(value);
    } else if (key_ == "sourceRoot") {
      parts_.back().source_root = std::move(value);
    }
    return true;
  }

  bool key(string_t& value) override {
    key_ = std::move(value);
    return true;
  }

  bool start_object(size_t /*size*/) override {
    Where where = Where::kOther;
    if (where_.empty() || (is_in(Where::kSection) && key_ == "map")) {
      where = Where::kMap;
      if (where_.empty()) parts_.emplace_back();
    } else if (is_in(Where::kSections)) {
      where = Where::kSection;
      parts_.emplace_back();
    } else if (is_in(Where::kSection) && key_ == "offset") {
      where = Where::kOffset;
    }
    where_.push_back(where);
    return true;
  }

  bool start_array(size_t /*size*/) override {
    if (where_.empty()) throw Error("is no source map: a list");
    Where where = Where::kOther;
    if (is_in(Where::kMap)) {
      if (key_ == "sources") where = Where::kSources;
      if (key_ == "names") where = Where::kNames;
      if (key_ == "sections" && where_.size() == 1) where = Where::kSections;
    }
    where_.push_back(where);
    return true;
  }

  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    throw Error("is no source map: not JSON at byte " + std::to_string(position));
  }

 private:
  enum class Where : uint8_t { kOther, kMap, kSections, kSection, kOffset, kSources, kNames };

  bool is_in(Where where) const { return !where_.empty() && where_.back() == where; }

  bool leave() {
    where_.pop_back();
    return true;
  }

  bool text_in_list(const std::string& text) {
    if (!is_in(Where::kSources) && !is_in(Where::kNames)) return true;
    if (++texts_ > kMaxTexts) throw Error("has more sources and names than any program");
    (is_in(Where::kSources) ? parts_.back().sources : parts_.back().names).push_back(text);
    return true;
  }

  std::vector<Where> where_;
  std::string key_;
  std::vector<SourceMapPart> parts_;
  size_t texts_ = 0;
};

}  // namespace

std::vector<SourceMapPart> read_source_map_json(std::string_view text) {
  // A line that keeps browsers from running it as a script.
  if (text.substr(0, 3) == ")]}") text.remove_prefix(std::min(text.find('\n'), text.size()));
  Reader reader;
  Json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

}  // namespace memprof::profile
