// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/container_id.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

constexpr size_t kIdBytes = 64;
constexpr std::string_view kScope = ".scope";

bool is_id(std::string_view text) {
  return text.size() == kIdBytes && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Of "ID", "docker-ID.scope", "cri-containerd-ID.scope"; empty: it is called otherwise.
std::string_view id_of_group(std::string_view group) {
  if (group.size() > kScope.size() && group.substr(group.size() - kScope.size()) == kScope) {
    group.remove_suffix(kScope.size());
  }
  group.remove_prefix(group.rfind('-') + 1);  // npos + 1 is 0
  return is_id(group) ? group : std::string_view();
}

}  // namespace

std::string container_id_in(std::string_view groups) {
  // The innermost group that has one, of any hierarchy.
  while (!groups.empty()) {
    std::string_view line = groups.substr(0, groups.find('\n'));
    groups.remove_prefix(std::min(line.size() + 1, groups.size()));
    while (!line.empty()) {
      const size_t slash = line.rfind('/');
      const std::string_view id = id_of_group(line.substr(slash + 1));
      if (!id.empty()) return std::string(id);
      line = line.substr(0, slash == std::string_view::npos ? 0 : slash);
    }
  }
  return {};
}

std::string container_id_of(uint64_t pid) {
  std::ifstream file(proc_path(pid, "cgroup"));
  return container_id_in(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace memprof::cli
