// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_process.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "format/affixes.h"
#include "format/files/arena_name.h"
#include "memprof.h"
#include "memprof/console/console.h"
#include "memprof/doctor/doctor_limits.h"
#include "memprof/doctor/doctor_program.h"
#include "memprof/host/linux/process/proc_path.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/other_user.h"
#include "memprof/host/process/process_facts.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/program/target_program.h"
#include "memprof/host/system/file_facts.h"
#include "profile/memory/unseen_heap.h"

namespace memprof::cli {
namespace {

std::string how_to_start(uint64_t pid) {
  return "`memprof attach " + std::to_string(pid) +
         "` starts it there; from the begin of a program: `memprof run -- CMD`, or LD_PRELOAD=libmemprof.so "
         "with "
         "MEMPROF_PROFILE set";
}

std::string described(uint64_t pid) {
  const std::string program = program_of(pid);
  return "process " + std::to_string(pid) + (program.empty() ? "" : " (" + program + ")");
}

// False: nothing more can be known of it.
bool check_access(uint64_t pid, const ProcessFacts& facts, Checks* checks) {
  if (facts.error == 0) {
    checks->yes("process", described(pid) + " can be inspected");
    return true;
  }
  if (facts.error == EACCES || facts.error == EPERM) {
    checks->no("process", described(pid) + " is not yours: " + error_text(facts.error), how_to_look());
  } else if (!is_running(pid)) {
    checks->no("process", "process " + std::to_string(pid) + " does not exist",
               "`memprof list` shows those with memprof");
  } else {
    checks->no("process", described(pid) + " has no memory: it has ended, or is a kernel thread", "");
  }
  return false;
}

// Whether there is a profile to be had of it now.
void check_loaded(uint64_t pid, const ProcessFacts& facts, const std::string& arena, Checks* checks) {
  const bool is_loaded = std::any_of(facts.modules.begin(), facts.modules.end(), [](const std::string& path) {
    return begins_with(std::string_view(path).substr(path.rfind('/') + 1), "libmemprof");
  });
  const std::string id = std::to_string(pid);
  const int error = arena.empty() ? 0 : why_not_readable(arena);
  if (!arena.empty() && error == 0) {
    checks->yes("memprof", "it is profiled: `memprof live " + id + "` shows it");
  } else if (!arena.empty()) {
    checks->no("memprof", "it is profiled, but its data (" + arena + ") cannot be read: " + error_text(error),
               error == ENOENT ? "the file was removed: its profile is written when it ends; or start it anew"
                               : how_to_look());
  } else if (is_loaded) {
    checks->no("memprof", "the library is loaded, but not started, or its data are in private memory",
               "`memprof attach " + id +
                   "` starts it; for `memprof live`, let MEMPROF_ARENA_DIR be a "
                   "folder that "
                   "can be written");
  } else {
    checks->no("memprof", "the library is not loaded there", how_to_start(pid));
  }
}

void check_sandbox(const ProcessFacts& facts, Checks* checks) {
  switch (facts.seccomp_mode) {
    case 0:
      checks->yes("seccomp", "no filter of system calls");
      break;
    case 1:
      checks->no("seccomp", "strict mode: it may read, write and end, nothing else",
                 "start it without seccomp");
      break;
    default:
      checks->note(
          "seccomp",
          "a filter of system calls, whose rules cannot be read. If it refuses process_vm_readv, samples "
          "cost "
          "more; if it refuses openat, ftruncate, madvise or futex, the data are private or samples are "
          "dropped; if it kills, the process ends",
          "allow these and mmap, gettid, rt_sigprocmask, linkat, renameat, unlinkat");
      break;
  }
  if (facts.has_other_root || facts.has_other_pids) {
    const char* what = facts.has_other_root && facts.has_other_pids ? "other files and other process ids"
                       : facts.has_other_root                       ? "other files"
                                                                    : "other process ids";
    checks->yes("container", std::string("it sees ") + what + " than this shell; memprof reads it from here");
  }
}

std::string variable(const ProcessFacts& facts, const char* name) {
  const auto found = facts.environment.find(name);
  return found != facts.environment.end() ? found->second : "";
}

// Nothing: it cannot be read, or nothing was started there.
std::optional<memprof_stats> statistics_in(const std::string& arena) {
  memprof_snapshot* snapshot = nullptr;
  if (arena.empty() || memprof_snapshot_open(arena.c_str(), &snapshot) != MEMPROF_OK) return {};
  memprof_stats stats{};
  stats.struct_size = sizeof(stats);
  const int error = memprof_snapshot_get_stats(snapshot, &stats);
  memprof_free_snapshot(snapshot);
  if (error != MEMPROF_OK) return {};
  return stats;
}

void check_bypassing(uint64_t libraries, Checks* checks) {
  if (libraries == 0) return;
  checks->note("libraries", profile::bypassing_text(libraries) + " is not seen",
               "docs/limits.md says which libraries these are");
}

// As the library chooses it (arena_parent), seen from the process.
std::string arena_folder_of(const ProcessFacts& facts, const std::string& root) {
  const auto given = facts.environment.find(kArenaFolderVariable);
  if (given != facts.environment.end()) return given->second;
  const auto temporary = facts.environment.find("TMPDIR");
  return usual_arena_folder(is_writable_folder(root + kSharedMemoryFolder),
                            temporary != facts.environment.end() ? temporary->second.c_str() : nullptr);
}

// What would stop it when it is started anew.
void check_preloadable(const std::string& executable, const std::string& shown, Checks* checks) {
  const TargetProgram target = inspect_target(executable);
  std::string obstacle = target.status == 0 ? target.obstacle : "";
  if (obstacle.empty()) {
    checks->yes("program", shown + ": a library can be preloaded into it");
    return;
  }
  if (obstacle.compare(0, executable.size(), executable) == 0) obstacle.replace(0, executable.size(), shown);
  const Obstacle parts = split_obstacle(obstacle);
  checks->no("program", parts.found, parts.to_do);
}

}  // namespace

void check_process(uint64_t pid, Checks* checks) {
  const ProcessFacts facts = read_process_facts(pid);
  if (!check_access(pid, facts, checks)) return;
  int error = 0;
  const std::string arena = arena_of_process(pid, &error);
  check_loaded(pid, facts, arena, checks);
  check_sandbox(facts, checks);
  const std::string root = facts.has_other_root ? proc_path(pid, "root") : "";
  const std::string arenas = arena_folder_of(facts, root);
  check_arena_folder(arenas, root + arenas, Try::kNo, checks);
  check_file_size(facts.file_size_limit_bytes, checks);
  check_address_space(facts.address_space_limit_bytes, Whose::kProcess, checks);

  ProgramFiles files;
  files.path = proc_path(pid, "exe");
  std::error_code unknown;
  files.shown = std::filesystem::read_symlink(files.path, unknown);
  if (files.shown.empty()) files.shown = files.path;
  for (const std::string& module : facts.modules) {
    if (module != files.shown) files.libraries.push_back(root + module);
  }
  files.python_malloc = variable(facts, "PYTHONMALLOC");
  files.memprof_python = variable(facts, "MEMPROF_PYTHON");
  files.memprof_node = variable(facts, "MEMPROF_NODE");
  if (const std::optional<memprof_stats> stats = statistics_in(arena)) {
    files.runtimes_seen.emplace();
    std::copy(std::begin(stats->runtimes), std::end(stats->runtimes), files.runtimes_seen->begin());
    check_bypassing(stats->bypassing_libraries, checks);
  }
  check_preloadable(files.path, files.shown, checks);
  check_program(files, checks);
}

}  // namespace memprof::cli
