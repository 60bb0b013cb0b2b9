// SPDX-License-Identifier: Apache-2.0
// Paths with facts in them (format/path_pattern.h), as strings.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

struct PathFacts {
  int64_t pid = 0;
  std::string program;
  int64_t time_seconds = 0;
};

// Throws Failure for any other letter behind a `%`.
std::string expand_path(const std::string& pattern, const PathFacts& facts);

// Whether it has a %p.
bool has_pid(const std::string& pattern);

// A pattern that expands to `path`.
std::string escape_path(const std::string& path);

}  // namespace memprof::cli
