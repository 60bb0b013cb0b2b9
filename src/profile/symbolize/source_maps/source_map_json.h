// SPDX-License-Identifier: Apache-2.0
// Source maps (ECMA-426, version 3) as JSON has them: the parts of one, its mappings not decoded yet.
//
// Threads: no state.
// Memory: in proportion to what is kept; the text of sources that a map brings with it is read over.
// Failure: throws Error, whose text does not name the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

// A map, or a section of an index map.
struct SourceMapPart {
  uint32_t line = 0;    // of the generated file where its first line is; from 0
  uint32_t column = 0;  // in that line, from 0
  std::string source_root;
  std::vector<std::string> sources;  // empty: unknown
  std::vector<std::string> names;
  std::string mappings;
};

// At least one.
std::vector<SourceMapPart> read_source_map_json(std::string_view text);

}  // namespace memprof::profile
