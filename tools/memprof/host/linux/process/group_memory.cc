// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/group_memory.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <utility>

namespace memprof::cli {
namespace {

// What the two versions of groups call their files.
struct Names {
  const char* limit;
  const char* used;
  const char* kills;
  const char* droppable;  // in memory.stat
};
constexpr Names kUnifiedNames = {"/memory.max", "/memory.current", "/memory.events", "inactive_file"};
constexpr Names kFirstNames = {"/memory.limit_in_bytes", "/memory.usage_in_bytes", "/memory.oom_control",
                               "total_inactive_file"};

const Names& names_of(bool is_unified) {
  return is_unified ? kUnifiedNames : kFirstNames;
}

// "max" of version 2, and the largest number of version 1, are no limit; nor is what is no number of bytes.
std::optional<uint64_t> read_bytes(const std::string& path) {
  constexpr uint64_t kNone = uint64_t{1} << 60;
  uint64_t bytes = 0;
  std::ifstream file(path);
  return file >> bytes && bytes < kNone ? std::optional(bytes) : std::nullopt;
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

bool is_there(const std::string& path) {
  return std::ifstream(path).is_open();
}

}  // namespace

ProcessGroup ProcessGroup::of_this_process(std::string root) {
  return ProcessGroup("self", std::move(root));
}

ProcessGroup ProcessGroup::of(uint64_t pid, std::string root) {
  return ProcessGroup(std::to_string(pid), std::move(root));
}

ProcessGroup::ProcessGroup(const std::string& process, std::string root) : root_(std::move(root)) {
  std::ifstream groups(root_ + "/proc/" + process + "/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    Place place;
    place.is_unified = controllers == ",,";
    if (!place.is_unified && controllers.find(",memory,") == std::string::npos) continue;
    // Beside version 1, version 2 has a folder of its own.
    std::string base = root_ + "/sys/fs/cgroup" + (place.is_unified ? "" : "/memory");
    if (place.is_unified && is_there(base + "/unified/cgroup.procs")) base += "/unified";
    std::string folder = line.substr(second + 1);
    // The hierarchy with the memory controller is the one that counts, if there are both.
    if (name_.empty() || !place.is_unified) name_ = folder;
    while (true) {
      while (!folder.empty() && folder.back() == '/') folder.pop_back();
      place.folders.push_back(base + folder);
      if (folder.empty()) break;
      folder.resize(folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
    }
    // In a container the path may be the host's, which is not to be seen here: what is there is its own group.  Found once:
    // of a group that is removed later, those around it have other counts.
    for (const std::string& at : place.folders) {
      place.kills = at + names_of(place.is_unified).kills;
      if (read_count(place.kills, "oom_kill")) break;
      place.kills.clear();
    }
    // The folder of all processes has no type; its figures are the machine's.
    for (const std::string& at : place.folders) {
      if (!stall_.empty() || !place.is_unified || !is_there(at + "/cgroup.type")) break;
      if (read_memory_stall(at + "/memory.pressure", false)) stall_ = at + "/memory.pressure";
    }
    places_.push_back(std::move(place));
  }
}

uint64_t ProcessGroup::limit_bytes() const {
  uint64_t min = UINT64_MAX;
  for (const Place& place : places_) {
    for (const std::string& folder : place.folders) {
      min = std::min(min, read_bytes(folder + names_of(place.is_unified).limit).value_or(UINT64_MAX));
    }
  }
  return min;
}

OomKills ProcessGroup::kills() const {
  OomKills kills;
  for (const Place& place : places_) {
    const std::optional<uint64_t> count = read_count(place.kills, "oom_kill");
    if (count) kills.in_group = kills.in_group.value_or(0) + *count;
  }
  if (!kills.in_group) kills.on_machine = read_count(root_ + "/proc/vmstat", "oom_kill");
  return kills;
}

std::optional<MemoryStall> ProcessGroup::stall() const {
  if (!stall_.empty()) return read_memory_stall(stall_, false);
  return read_memory_stall(root_ + "/proc/pressure/memory", true);
}

GroupUse ProcessGroup::use(double exact_percent) const {
  GroupUse fullest;
  for (const Place& place : places_) {
    const Names& names = names_of(place.is_unified);
    for (const std::string& folder : place.folders) {
      GroupUse one;
      const std::optional<uint64_t> limit = read_bytes(folder + names.limit);
      if (!limit) continue;
      one.limit_bytes = *limit;
      one.used_bytes = read_bytes(folder + names.used).value_or(0);
      if (one.percent() >= exact_percent) {
        const uint64_t droppable = read_count(folder + "/memory.stat", names.droppable).value_or(0);
        one.used_bytes -= std::min(one.used_bytes, droppable);
      }
      if (fullest.limit_bytes == UINT64_MAX || one.percent() > fullest.percent()) fullest = one;
    }
  }
  fullest.kills = kills();
  return fullest;
}

}  // namespace memprof::cli
