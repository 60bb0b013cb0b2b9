// SPDX-License-Identifier: Apache-2.0
// How texts begin and end.  Pure; allocates never.
#pragma once

#include <string_view>

namespace memprof {

inline constexpr bool begins_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

inline constexpr bool ends_with(std::string_view text, std::string_view end) {
  if (text.size() < end.size()) {
    return false;
  }
  text.remove_prefix(text.size() - end.size());  // substr() may throw
  return text == end;
}

// A path as the kernel tells it, without what it appends where the file is not there any more.
inline constexpr std::string_view without_deleted(std::string_view path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (ends_with(path, kDeleted)) {
    path.remove_suffix(kDeleted.size());
  }
  return path;
}

}  // namespace memprof
