// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/running_process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/proc_path.h"
#include "memprof/host/process/process_ids.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

std::string how_to(const std::string& pid) {
  return "; the library is not loaded there, or not started: `memprof attach " + pid +
         "` starts it there, `memprof run -- CMD` from the begin of a program";
}

std::string described(uint64_t pid) {
  const std::string program = program_of(pid);
  return "process " + std::to_string(pid) + (program.empty() ? "" : " (" + program + ")");
}

// By the 22nd field of /proc/PID/stat; the second one, the name, may have anything in it.
uint64_t start_of(uint64_t pid) {
  std::ifstream file(proc_path(pid, "stat"));
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t behind_name = text.rfind(')');
  if (behind_name == std::string::npos) return 0;
  std::istringstream fields(text.substr(behind_name + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  uint64_t ticks = 0;
  fields >> ticks;
  return ticks * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

RunningProcess look_at(uint64_t pid) {
  int error = 0;
  RunningProcess process;
  process.pid = pid;
  process.arena = arena_of_process(pid, &error);
  if (!process.arena.empty()) {
    process.start_ns = start_of(pid);
    process.program = program_of(pid);
    process.root = has_other_root(pid) ? proc_path(pid, "root") : "";
    return process;
  }
  if (error == ENOENT || !is_running(pid))
    throw Failure("process " + std::to_string(pid) + " does not exist");
  if (error == EACCES || error == EPERM) {
    throw Failure(described(pid) + " is not yours: " + error_text(error) + "; try as its user, or as root");
  }
  if (error == ESRCH) throw Failure(described(pid) + " has no memory: it has ended, or is a kernel thread");
  if (error != 0) throw Failure(described(pid) + ": " + error_text(error));
  throw Failure(described(pid) + " has no memprof data" + how_to(std::to_string(pid)));
}

[[noreturn]] void fail_among(const std::string& name, const std::vector<uint64_t>& pids) {
  std::string ids;
  for (const uint64_t pid : pids) ids += (ids.empty() ? "" : ", ") + std::to_string(pid);
  throw Failure("--name " + name + ": there are " + std::to_string(pids.size()) + "; give one of the ids " +
                ids);
}

}  // namespace

RunningProcess find_process(const std::string& text) {
  uint64_t pid = 0;
  if (!parse_pid(text, &pid)) {
    throw Failure("live: '" + text +
                  "' is not a process id; --name finds a process by the name of its program");
  }
  return look_at(pid);
}

RunningProcess find_process_named(const std::string& name) {
  std::vector<uint64_t> with_arena;
  size_t without = 0;
  for (const uint64_t pid : all_processes()) {
    if (program_of(pid) != name || pid == static_cast<uint64_t>(getpid())) continue;
    int error = 0;
    if (arena_of_process(pid, &error).empty()) {
      ++without;
    } else {
      with_arena.push_back(pid);
    }
  }
  if (with_arena.size() == 1) return look_at(with_arena[0]);
  if (with_arena.empty()) {
    if (without == 0) throw Failure("--name " + name + ": there is no such process");
    throw Failure("--name " + name + ": none of the " + std::to_string(without) +
                  " processes of that name that can be seen has memprof data" + how_to("PID"));
  }
  fail_among(name, with_arena);
}

uint64_t find_any_process_named(const std::string& name) {
  std::vector<uint64_t> found;
  for (const uint64_t pid : all_processes()) {
    if (program_of(pid) == name && pid != static_cast<uint64_t>(getpid())) found.push_back(pid);
  }
  if (found.size() == 1) return found[0];
  if (found.empty()) throw Failure("--name " + name + ": there is no such process");
  fail_among(name, found);
}

uint64_t resident_bytes(uint64_t pid) {
  std::ifstream file(proc_path(pid, "statm"));
  uint64_t size_pages = 0;
  uint64_t resident_pages = 0;
  if (!(file >> size_pages >> resident_pages)) return 0;
  return resident_pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

bool has_other_root(uint64_t pid) {
  struct stat ours{};
  struct stat its{};
  return stat("/", &ours) == 0 && stat(proc_path(pid, "root").c_str(), &its) == 0 &&
         (ours.st_dev != its.st_dev || ours.st_ino != its.st_ino);
}

bool is_own_process(uint64_t pid) {
  struct stat status{};
  return stat(proc_path(pid, ".").c_str(), &status) == 0 && status.st_uid == geteuid();
}

bool is_missing(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR || errno == ESRCH);
}

// Who takes a process for gone removes what it left: a look that is refused (by a filter of system calls) says nothing.
bool is_running(uint64_t pid) {
  return !is_missing(proc_path(pid, "stat"));
}

std::string program_of(uint64_t pid) {
  std::error_code error;
  const fs::path path = fs::read_symlink(proc_path(pid, "exe"), error);
  std::string name = path.filename();
  const std::string deleted = " (deleted)";
  if (name.size() > deleted.size() &&
      name.compare(name.size() - deleted.size(), deleted.size(), deleted) == 0) {
    name.erase(name.size() - deleted.size());
  }
  if (!error && !name.empty()) return name;
  std::ifstream comm(proc_path(pid, "comm"));
  std::getline(comm, name);
  return name;
}

}  // namespace memprof::cli
