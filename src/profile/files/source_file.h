// SPDX-License-Identifier: Apache-2.0
// Source files that a profile names, and which of them may be shown.
//
// The maker of a profile chooses the paths in it, and the reader's rights decide what they open: without a rule a
// profile of somebody else's shows, or makes `export --source` pass on, any file of its reader's.  docs/security.md
// has the rule in words.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memprof::profile {

struct SourceRule {
  // The profile was made by this user, and by no other: is_own_file() of its file, or a process of this user.
  bool is_own = false;
  // Folders that the user chose (--source-root), as real_folder() has them: any source file below them may be shown.
  std::vector<std::string> roots;
};

struct SourceFile {
  std::string text;
  uint64_t changed_unix_ns = 0;
};

// Whether the name of a path ends as files of a programming language do (.c, .py, .rs).
bool is_source_name(const std::string& path);

// `path` must be absolute.  Nothing: the rule does not allow it, it cannot be read, or it has more than `max_bytes`.
std::optional<SourceFile> read_source_file(const std::string& path, const SourceRule& rule, size_t max_bytes);

// Whether nobody but this user can have put content into the file, or another file in its place: it is this user's,
// others cannot write to it, and the folders and links on its path are this user's or root's.
bool is_own_file(const std::string& path);

// The path of a folder without links.  Nothing: it is none.
std::optional<std::string> real_folder(const std::string& path);

}  // namespace memprof::profile
