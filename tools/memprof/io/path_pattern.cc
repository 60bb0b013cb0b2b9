// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/path_pattern.h"

#include <algorithm>
#include <cstring>

#include "format/path_pattern.h"
#include "memprof/console/failure.h"

namespace memprof::cli {

std::string expand_path(const std::string& pattern, const PathFacts& facts) {
  if (const char* wrong = find_wrong_fact(pattern.c_str())) {
    throw Failure(pattern + ": '" + std::string(wrong).substr(0, 2) +
                  "' is unknown in a path; there are %p (pid), %n (program), %t (time) and %%");
  }
  constexpr size_t kMaxDigits = 20;
  const size_t facts_in_it = static_cast<size_t>(std::count(pattern.begin(), pattern.end(), '%'));
  std::string path(pattern.size() + facts_in_it * std::max(kMaxDigits, facts.program.size()) + 1, '\0');
  memprof::expand_path(pattern.c_str(), static_cast<uint64_t>(facts.pid), facts.program.c_str(),
                       static_cast<uint64_t>(facts.time_seconds), path.data(), path.size());
  path.resize(std::strlen(path.c_str()));
  return path;
}

bool has_pid(const std::string& pattern) {
  return has_fact(pattern.c_str(), 'p');
}

std::string escape_path(const std::string& path) {
  std::string pattern;
  for (const char c : path) pattern.append(c == '%' ? 2 : 1, c);
  return pattern;
}

}  // namespace memprof::cli
