// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/running_process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

#include "format/affixes.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/command_names.h"
#include "memprof/host/linux/process/proc_path.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/other_user.h"
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
    throw Failure(described(pid) + " is not yours: " + error_text(error) + "; " + how_to_look());
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

std::vector<std::string> arguments_of(uint64_t pid) {
  std::ifstream file(proc_path(pid, "cmdline"));
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

bool is_called(uint64_t pid, const std::string& program, const std::string& name) {
  const std::vector<std::string> names = command_names(program, arguments_of(pid));
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Those whose executable has the name; where there are none, those that are called so otherwise.
std::vector<uint64_t> pids_named(const std::string& name) {
  std::vector<uint64_t> by_program;
  std::vector<uint64_t> by_command;
  for (const uint64_t pid : all_processes()) {
    if (pid == static_cast<uint64_t>(getpid())) continue;
    const std::string program = program_of(pid);
    if (program == name) {
      by_program.push_back(pid);
    } else if (is_called(pid, program, name)) {
      by_command.push_back(pid);
    }
  }
  return by_program.empty() ? by_command : by_program;
}

// At least one.
std::vector<uint64_t> pids_with_arena(const std::string& name) {
  std::vector<uint64_t> all = pids_named(name);
  if (all.empty()) throw Failure("--name " + name + ": there is no such process");
  const size_t seen = all.size();
  all.erase(std::remove_if(all.begin(), all.end(),
                           [](uint64_t pid) {
                             int error = 0;
                             return arena_of_process(pid, &error).empty();
                           }),
            all.end());
  if (!all.empty()) return all;
  throw Failure("--name " + name + ": none of the " + std::to_string(seen) +
                " processes of that name that can be seen has memprof data" + how_to("PID"));
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

std::vector<RunningProcess> find_processes_named(const std::string& name) {
  std::vector<RunningProcess> processes;
  for (const uint64_t pid : pids_with_arena(name)) processes.push_back(look_at(pid));
  return processes;
}

RunningProcess find_process_named(const std::string& name) {
  const std::vector<uint64_t> pids = pids_with_arena(name);
  if (pids.size() > 1) fail_among(name, pids);
  return look_at(pids[0]);
}

uint64_t find_any_process_named(const std::string& name) {
  const std::vector<uint64_t> found = pids_named(name);
  if (found.size() > 1) fail_among(name, found);
  if (found.empty()) throw Failure("--name " + name + ": there is no such process");
  return found[0];
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

std::string executable_of(uint64_t pid) {
  return proc_path(pid, "exe");
}

std::string program_of(uint64_t pid) {
  std::error_code error;
  const fs::path path = fs::read_symlink(proc_path(pid, "exe"), error);
  const std::string name(without_deleted(path.filename().native()));
  return !error && !name.empty() ? name : short_name_of(pid);
}

std::string short_name_of(uint64_t pid) {
  std::ifstream comm(proc_path(pid, "comm"));
  std::string name;
  std::getline(comm, name);
  return name;
}

}  // namespace memprof::cli
