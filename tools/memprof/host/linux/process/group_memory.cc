// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/group_memory.h"

#include <algorithm>
#include <fstream>
#include <vector>

namespace memprof::cli {
namespace {

struct Group {
  bool is_unified = false;           // version 2
  std::vector<std::string> folders;  // its own first, then those around it
};

// Those that count this process's memory: of version 1, of version 2, or both.
std::vector<Group> groups_of(const std::string& root) {
  std::vector<Group> found;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    Group group;
    group.is_unified = controllers == ",,";
    if (!group.is_unified && controllers.find(",memory,") == std::string::npos) continue;
    const std::string base = root + "/sys/fs/cgroup" + (group.is_unified ? "" : "/memory");
    std::string folder = line.substr(second + 1);
    while (true) {
      while (!folder.empty() && folder.back() == '/') folder.pop_back();
      group.folders.push_back(base + folder);
      if (folder.empty()) break;
      folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
    }
    found.push_back(std::move(group));
  }
  return found;
}

uint64_t read_limit(const std::string& path) {
  constexpr uint64_t kNone = uint64_t{1} << 60;
  uint64_t limit = 0;
  std::ifstream file(path);
  return file >> limit && limit < kNone ? limit : UINT64_MAX;
}

// Of lines "name number".
std::optional<uint64_t> read_count(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  uint64_t number = 0;
  while (file >> word >> number) {
    if (word == name) return number;
  }
  return std::nullopt;
}

}  // namespace

uint64_t group_memory_limit(const std::string& root) {
  uint64_t min = UINT64_MAX;
  for (const Group& group : groups_of(root)) {
    for (const std::string& folder : group.folders) {
      min = std::min(min, read_limit(folder + (group.is_unified ? "/memory.max" : "/memory.limit_in_bytes")));
    }
  }
  return min;
}

OomKills count_oom_kills(const std::string& root) {
  OomKills kills;
  for (const Group& group : groups_of(root)) {
    // In a container the path may be the host's, which is not to be seen here: what is there is its own group.
    for (const std::string& folder : group.folders) {
      const auto count =
          read_count(folder + (group.is_unified ? "/memory.events" : "/memory.oom_control"), "oom_kill");
      if (!count) continue;
      kills.in_group = kills.in_group.value_or(0) + *count;
      break;
    }
  }
  kills.on_machine = read_count(root + "/proc/vmstat", "oom_kill");
  return kills;
}

}  // namespace memprof::cli
