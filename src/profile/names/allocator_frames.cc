// SPDX-License-Identifier: Apache-2.0
#include "profile/names/allocator_frames.h"

#include <regex>

#include "format/pprof/pprof_schema.h"

namespace memprof::profile {

bool is_allocator_function(const std::string& name) {
  // std::regex recurses once a character, and names of templates are long.
  constexpr size_t kLongestName = 256;
  static const std::regex pattern(schema::kDropFramesRegex,
                                  std::regex::ECMAScript | std::regex::optimize | std::regex::nosubs);
  return name.size() <= kLongestName && std::regex_match(name, pattern);
}

}  // namespace memprof::profile
