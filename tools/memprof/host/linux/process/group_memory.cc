// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/group_memory.h"

#include <algorithm>
#include <fstream>

namespace memprof::cli {
namespace {

uint64_t read_limit(const std::string& path) {
  constexpr uint64_t kNone = uint64_t{1} << 60;
  uint64_t limit = 0;
  std::ifstream file(path);
  return file >> limit && limit < kNone ? limit : UINT64_MAX;
}

}  // namespace

uint64_t group_memory_limit(const std::string& root) {
  uint64_t min = UINT64_MAX;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_unified = controllers == ",,";
    if (!is_unified && controllers.find(",memory,") == std::string::npos) continue;
    const std::string base = root + "/sys/fs/cgroup" + (is_unified ? "" : "/memory");
    const char* const name = is_unified ? "/memory.max" : "/memory.limit_in_bytes";
    std::string folder = line.substr(second + 1);
    while (true) {
      while (!folder.empty() && folder.back() == '/') folder.pop_back();
      min = std::min(min, read_limit(base + folder + name));
      if (folder.empty()) break;
      folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
    }
  }
  return min;
}

}  // namespace memprof::cli
