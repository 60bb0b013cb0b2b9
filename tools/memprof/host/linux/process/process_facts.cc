// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/process_facts.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "memprof/host/linux/process/proc_path.h"
#include "memprof/host/process/memory_map.h"
#include "memprof/host/process/running_process.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

void read_modules(uint64_t pid, ProcessFacts* facts) {
  auto& modules = facts->modules;
  facts->error = visit_mapped_files(pid, [&](const MappedFile& mapped) {
    const bool is_new = std::find(modules.begin(), modules.end(), mapped.path) == modules.end();
    if (mapped.is_code && mapped.path[0] == '/' && is_new) modules.push_back(mapped.path);
    return false;
  });
}

void read_environment(uint64_t pid, ProcessFacts* facts) {
  std::ifstream file(proc_path(pid, "environ"), std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    const size_t equals = entry.find('=');
    if (equals != std::string::npos)
      facts->environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
}

void read_status(uint64_t pid, ProcessFacts* facts) {
  std::ifstream file(proc_path(pid, "status"));
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Seccomp:", 0) == 0) std::sscanf(line.c_str(), "Seccomp: %d", &facts->seccomp_mode);
  }
}

// "Max file size             unlimited            unlimited            bytes"
void read_limit(const std::string& line, const char* name, uint64_t* limit_bytes) {
  if (line.rfind(name, 0) != 0) return;
  unsigned long long soft = 0;
  if (std::sscanf(line.c_str() + std::char_traits<char>::length(name), "%llu", &soft) == 1)
    *limit_bytes = soft;
}

void read_limits(uint64_t pid, ProcessFacts* facts) {
  std::ifstream file(proc_path(pid, "limits"));
  for (std::string line; std::getline(file, line);) {
    read_limit(line, "Max file size", &facts->file_size_limit_bytes);
    read_limit(line, "Max address space", &facts->address_space_limit_bytes);
  }
}

bool is_other_namespace(uint64_t pid) {
  std::error_code error;
  const fs::path its = fs::read_symlink(proc_path(pid, "ns/pid"), error);
  if (error) return false;
  return its != fs::read_symlink("/proc/self/ns/pid", error);
}

}  // namespace

ProcessFacts read_process_facts(uint64_t pid) {
  ProcessFacts facts;
  read_modules(pid, &facts);
  read_environment(pid, &facts);
  read_status(pid, &facts);
  read_limits(pid, &facts);
  facts.has_other_root = has_other_root(pid);
  facts.has_other_pids = is_other_namespace(pid);
  return facts;
}

}  // namespace memprof::cli
