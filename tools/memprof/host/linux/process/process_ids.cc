// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/process_ids.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

uint64_t read_namespace(const std::string& path) {
  char link[64] = "";
  const ssize_t length = readlink(path.c_str(), link, sizeof(link) - 1);
  unsigned long long id = 0;
  return length > 0 && std::sscanf(link, "pid:[%llu]", &id) == 1 ? id : 0;
}

}  // namespace

uint64_t own_process_id() {
  return static_cast<uint64_t>(getpid());
}

bool is_process_id(uint64_t id) {
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(id), 0));
  if (fd >= 0) {
    close(fd);
    return true;
  }
  if (errno == ESRCH || errno == EINVAL || errno == ENOENT) return false;
  // The kernel is older than that call, or it is not allowed.
  std::ifstream status(proc_path(id, "status"));
  constexpr char kField[] = "Tgid:";
  for (std::string line; std::getline(status, line);) {
    uint64_t process = 0;
    if (line.rfind(kField, 0) == 0) {
      return parse_pid(line.substr(line.find_last_of("\t ") + 1), &process) && process == id;
    }
  }
  return false;
}

std::vector<uint64_t> all_processes() {
  std::vector<uint64_t> pids;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    uint64_t pid = 0;
    if (parse_pid(entry->path().filename(), &pid)) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// A process stays in its namespace.
uint64_t own_namespace() {
  static const uint64_t id = read_namespace("/proc/self/ns/pid");
  return id;
}

uint64_t namespace_of(uint64_t pid) {
  return read_namespace(proc_path(pid, "ns/pid"));
}

uint64_t pid_inside(uint64_t pid) {
  std::ifstream status(proc_path(pid, "status"));
  constexpr char kField[] = "NSpid:";
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(kField, 0) != 0) continue;
    uint64_t inside = 0;
    return parse_pid(line.substr(line.find_last_of("\t ") + 1), &inside) ? inside : pid;
  }
  return pid;
}

}  // namespace memprof::cli
