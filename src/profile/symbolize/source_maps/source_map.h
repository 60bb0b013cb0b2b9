// SPDX-License-Identifier: Apache-2.0
// Which line of a source a line of a generated script is, and what the source calls a function of it.
//
// Model: profiles have lines, and no columns.  A line of a script is the line where the source begins that it was made of, if
// all of it is of one source, and of lines near each other; a line of a minified script stands for many, and is none of them.
// The names of functions are found by the places of the script that the map gives a name: a name of the script with one name
// in the sources is that one.
//
// Threads: immutable once made.
// Memory: in proportion to the lines of the script and the names in the map.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace memprof::profile {

struct SourceLine {
  const std::string* source = nullptr;  // as the map names it, after its sourceRoot
  int64_t line = 0;                     // from 1
};

class SourceMap {
 public:
  // `text`: the JSON.  `script`: the generated file, for names of functions; may be empty.
  // Failure: throws Error, whose text does not name the file.
  SourceMap(std::string_view text, std::string_view script);

  enum class Answer : uint8_t { kNone, kOne, kMany };
  // `line`: of the script, from 1.
  Answer find(int64_t line, SourceLine* result) const;

  // What the sources call a function that the script calls `name`; nullptr: the same, or not known.
  const std::string* source_name(const std::string& name) const;

 private:
  struct OfLine {
    uint32_t source = 0;
    uint32_t first = 0;  // line of the source, from 0
    uint32_t min = 0;
    uint32_t max = 0;
    bool is_of_many = false;
  };

  void add_place(uint32_t line, uint32_t source, uint32_t source_line);
  void add_name(const std::string& in_script, const std::string& in_source);

  std::vector<std::string> sources_;
  std::unordered_map<uint32_t, OfLine> lines_;          // by line of the script, from 0
  std::unordered_map<std::string, std::string> names_;  // empty: several
};

}  // namespace memprof::profile
