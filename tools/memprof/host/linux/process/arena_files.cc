// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/arena_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "format/files/arena_name.h"
#include "memprof/host/linux/process/proc_path.h"
#include "memprof/host/process/memory_map.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/system/file_facts.h"
#include "profile/files/regular_file.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

bool parse_name(const std::string& name, ArenaFile* file) {
  ArenaName parsed;
  if (!parse_arena_name(name, &parsed)) return false;
  file->pid = parsed.process_id;
  file->pid_namespace = parsed.process_namespace;
  file->process_start = parsed.process_start;
  return true;
}

bool is_file(const std::string& path, const MappedFile& mapped) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 && mapped.inode == status.st_ino &&
         mapped.device_major == major(status.st_dev) && mapped.device_minor == minor(status.st_dev);
}

// The kernel gives the path of a mapped file as we see it, or, where we cannot, as seen in its own mounts.
std::string path_here(uint64_t pid, const MappedFile& mapped) {
  std::string inside = proc_path(pid, "root") + mapped.path;
  if (is_file(inside, mapped)) return inside;
  return is_file(mapped.path, mapped) ? mapped.path : "";
}

// The process here that has this id in another namespace; 0: it cannot be seen.
uint64_t find_in_namespace(const ArenaFile& file) {
  if (file.pid_namespace == 0) return 0;
  for (const uint64_t pid : all_processes()) {
    if (namespace_of(pid) == file.pid_namespace && pid_inside(pid) == file.pid) return pid;
  }
  return 0;
}

// Of a look at a process: it is somebody else's, or we have no descriptor or memory for it.  Whether it runs is open.
bool is_refusal(int error) {
  return error == EACCES || error == EPERM || error == EMFILE || error == ENFILE || error == ENOMEM;
}

}  // namespace

bool is_plain_file(const std::string& path) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool is_arena(const std::string& path) {
  ArenaFile file;
  return parse_name(path.substr(path.rfind('/') + 1), &file);
}

std::vector<ArenaFile> find_arenas(const std::string& folder) {
  std::vector<ArenaFile> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    ArenaFile file;
    if (!parse_name(entry->path().filename(), &file)) continue;
    file.path = entry->path();
    files.push_back(std::move(file));
  }
  return files;
}

bool is_same_namespace(const ArenaFile& file) {
  return file.pid_namespace != 0 && file.pid_namespace == own_namespace();
}

std::string run_folder_name() {
  return "memprof-run-" + std::to_string(getpid()) + "-" + std::to_string(own_namespace()) + "-";
}

bool parse_run_folder(const std::string& name, ArenaFile* memprof) {
  unsigned long long pid = 0;
  unsigned long long space = 0;
  if (std::sscanf(name.c_str(), "memprof-run-%llu-%llu-", &pid, &space) != 2) return false;
  memprof->pid = pid;
  memprof->pid_namespace = space;
  return true;
}

Owner owner_of(const ArenaFile& file) {
  const bool is_here = is_same_namespace(file);
  const uint64_t pid = is_here ? file.pid : find_in_namespace(file);
  if (pid == 0) return Owner::kUnknown;
  if (is_missing(file.path)) return Owner::kIsGone;
  // Not its id alone: that may be another process's by now, or the process another program.
  bool is_mapped = false;
  const int error = visit_mapped_files(pid, [&](const MappedFile& mapped) {
    is_mapped = is_file(file.path, mapped);
    return is_mapped;
  });
  if (is_mapped) return Owner::kLives;
  if (is_refusal(error)) return Owner::kLives;
  // It makes the file before it maps it.
  if (error == 0 && !is_begun(file.path)) return Owner::kLives;
  return Owner::kIsGone;
}

std::string arena_of_process(uint64_t pid, int* error) {
  std::string found;
  const uint64_t inside = pid_inside(pid);
  const uint64_t space = namespace_of(pid);
  *error = visit_mapped_files(pid, [&](const MappedFile& mapped) {
    const std::string name = mapped.path.substr(mapped.path.rfind('/') + 1);
    ArenaFile file;
    // A fork child has its parent's arena mapped, too.
    if (!parse_name(name, &file) || file.pid != inside) return false;
    const std::string path = path_here(pid, mapped);
    if (!path.empty()) found = path;
    return !path.empty() && file.pid_namespace == space;
  });
  return found;
}

std::string arena_parent() {
  const char* given = std::getenv(kArenaFolderVariable);
  if (given != nullptr) return given;
  return usual_arena_folder(is_writable_folder(kSharedMemoryFolder), std::getenv("TMPDIR"));
}

}  // namespace memprof::cli
