// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/memory_figures.h"

#include <fstream>
#include <sstream>
#include <string_view>

#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

using Figures = std::map<std::string, uint64_t>;

// Lines "KEY:   NUMBER kB" of a file.
void add_kilobytes(const std::string& path, std::string_view key, const char* figure, Figures* figures) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::istringstream rest(line.substr(key.size()));
    uint64_t kilobytes = 0;
    if (rest >> kilobytes) (*figures)[figure] += kilobytes * 1024;
    return;
  }
}

void add_major_faults(uint64_t pid, Figures* figures) {
  std::ifstream file(proc_path(pid, "stat"));
  std::string line;
  std::getline(file, line);
  // Behind the name, which may hold anything: state, ppid, pgrp, session, tty, tpgid, flags, minflt, cminflt.
  const size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return;
  std::istringstream rest(line.substr(end_of_name + 1));
  std::string word;
  constexpr int kWordsBefore = 9;
  for (int i = 0; i < kWordsBefore; ++i) rest >> word;
  uint64_t faults = 0;
  if (rest >> faults) (*figures)["major_faults"] += faults;
}

// The folder of the group that limits the process; empty: none that we see.
std::string group_folder(uint64_t pid) {
  std::ifstream file(proc_path(pid, "cgroup"));
  constexpr std::string_view kUnified = "0::";
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, kUnified.size(), kUnified) == 0) {
      return "/sys/fs/cgroup" + line.substr(kUnified.size());
    }
  }
  return {};
}

void add_number(const std::string& path, const char* figure, Figures* figures) {
  uint64_t number = 0;  // `max`, no limit, is not one
  if (std::ifstream(path) >> number) (*figures)[figure] = number;
}

void add_group(const std::string& folder, Figures* figures) {
  add_number(folder + "/memory.current", "cgroup_bytes", figures);
  add_number(folder + "/memory.max", "cgroup_limit_bytes", figures);
  std::ifstream events(folder + "/memory.events");
  std::string name;
  for (uint64_t count = 0; events >> name >> count;) {
    for (const char* known : {"high", "max", "oom", "oom_kill"}) {
      if (name == known) (*figures)["cgroup_" + name + "_events"] = count;
    }
  }
}

}  // namespace

Figures read_memory_figures(const std::vector<uint64_t>& pids) {
  Figures figures;
  for (const uint64_t pid : pids) {
    add_kilobytes(proc_path(pid, "status"), "VmRSS:", "rss_bytes", &figures);
    add_kilobytes(proc_path(pid, "status"), "VmSwap:", "swap_bytes", &figures);
    add_major_faults(pid, &figures);
  }
  if (!pids.empty()) {
    const std::string folder = group_folder(pids[0]);
    if (!folder.empty()) add_group(folder, &figures);
  }
  return figures;
}

void add_proportional_size(const std::vector<uint64_t>& pids, Figures* figures) {
  for (const uint64_t pid : pids) {
    add_kilobytes(proc_path(pid, "smaps_rollup"), "Pss:", "pss_bytes", figures);
  }
}

}  // namespace memprof::cli
