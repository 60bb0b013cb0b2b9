// SPDX-License-Identifier: Apache-2.0
// Whom the system's OOM killer took.
//
// Threads: no state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace memprof::cli {

// A process of a group that ended without coming to its end by itself.
struct EndedProcess {
  size_t index = 0;  // the caller's
  uint64_t pid = 0;
  uint64_t resident_bytes = 0;  // at most, of its life
};

// The indices of those that were killed.  The system counts its kills (OomKills), and does not say whom it killed: where
// more have ended, the largest were, which it takes.
inline std::vector<size_t> oom_victims(std::vector<EndedProcess> ended, uint64_t kills) {
  std::sort(ended.begin(), ended.end(), [](const EndedProcess& a, const EndedProcess& b) {
    return a.resident_bytes != b.resident_bytes ? a.resident_bytes > b.resident_bytes : a.pid < b.pid;
  });
  std::vector<size_t> victims;
  for (size_t i = 0; i < ended.size() && i < kills; ++i) victims.push_back(ended[i].index);
  return victims;
}

}  // namespace memprof::cli
