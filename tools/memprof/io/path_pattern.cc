// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/path_pattern.h"

#include "memprof/console/failure.h"

namespace memprof::cli {

namespace {

// One part of a path, whatever the program calls itself: it may be hostile, and say what it likes in its
// data.
std::string as_file_name(const std::string& program) {
  std::string name = program;
  for (char& c : name) {
    if (c == '/' || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '_';
  }
  return name == "." || name == ".." ? std::string(name.size(), '_') : name;
}

}  // namespace

std::string expand_path(const std::string& pattern, const PathFacts& facts) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const char letter = ++i < pattern.size() ? pattern[i] : '\0';
    switch (letter) {
      case 'p':
        path += std::to_string(facts.pid);
        break;
      case 'n':
        path += as_file_name(facts.program);
        break;
      case 't':
        path += std::to_string(facts.time_seconds);
        break;
      case '%':
        path += '%';
        break;
      default:
        throw Failure(pattern + ": '%" + std::string(letter == '\0' ? 0 : 1, letter) +
                      "' is unknown in a path; there are %p (pid), %n (program), %t (time) and %%");
    }
  }
  return path;
}

bool has_pid(const std::string& pattern) {
  for (size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    if (pattern[++i] == 'p') return true;
  }
  return false;
}

std::string escape_path(const std::string& path) {
  std::string pattern;
  for (const char c : path) pattern.append(c == '%' ? 2 : 1, c);
  return pattern;
}

}  // namespace memprof::cli
