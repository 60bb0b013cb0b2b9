// SPDX-License-Identifier: Apache-2.0
#include "memprof/arena_files.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kPattern[] = "memprof-%llu-%llu.arena%n";

bool parse_name(const std::string& name, ArenaFile* file) {
  unsigned long long pid = 0;
  unsigned long long space = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), kPattern, &pid, &space, &end) != 2 || end != static_cast<int>(name.size())) {
    return false;
  }
  file->pid = pid;
  file->pid_namespace = space;
  return true;
}

std::string in_proc(uint64_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

uint64_t own_namespace() {
  char link[64] = "";
  const ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
  unsigned long long id = 0;
  return length > 0 && std::sscanf(link, "pid:[%llu]", &id) == 1 ? id : 0;
}

// One line of /proc/PID/maps.
struct Mapped {
  unsigned device_major = 0;
  unsigned device_minor = 0;
  unsigned long long inode = 0;
  std::string path;
};

bool parse_line(const std::string& line, Mapped* mapped) {
  int path_at = 0;
  if (std::sscanf(line.c_str(), "%*x-%*x %*s %*x %x:%x %llu %n", &mapped->device_major, &mapped->device_minor,
                  &mapped->inode, &path_at) != 3 ||
      path_at == 0) {
    return false;
  }
  mapped->path = line.substr(static_cast<size_t>(path_at));
  return true;
}

// Calls `visit` for each mapping of a file; true from it ends the search.  0, or the errno.
template <typename Visit>
int visit_mappings(uint64_t pid, const Visit& visit) {
  errno = 0;
  std::ifstream maps(in_proc(pid, "maps"));
  std::string line;
  bool any = false;
  while (std::getline(maps, line)) {
    any = true;
    Mapped mapped;
    if (parse_line(line, &mapped) && mapped.inode != 0 && visit(mapped)) return 0;
  }
  if (any) return 0;
  return errno != 0 ? errno : ESRCH;  // a zombie has no memory
}

}  // namespace

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
  if (!is_same_namespace(file)) return Owner::kUnknown;
  struct stat status{};
  if (stat(file.path.c_str(), &status) != 0) return Owner::kIsGone;
  bool is_mapped = false;
  // Not its id alone: that may be another process's by now, or the process another program.
  const int error = visit_mappings(file.pid, [&](const Mapped& mapped) {
    is_mapped = mapped.inode == status.st_ino && mapped.device_major == major(status.st_dev) &&
                mapped.device_minor == minor(status.st_dev);
    return is_mapped;
  });
  if (error == EACCES || error == EPERM) return Owner::kLives;  // it is there, and somebody else's
  return is_mapped ? Owner::kLives : Owner::kIsGone;
}

std::string arena_of_process(uint64_t pid, int* error) {
  std::string found;
  *error = visit_mappings(pid, [&](const Mapped& mapped) {
    const std::string name = mapped.path.substr(mapped.path.rfind('/') + 1);
    ArenaFile file;
    if (!parse_name(name, &file)) return false;
    // A fork child has its parent's arena mapped, too.  In a container the process has another id there.
    if (file.pid_namespace == own_namespace() && file.pid != pid) return false;
    found = in_proc(pid, "root") + mapped.path;
    return file.pid == pid;
  });
  return found;
}

std::string arena_parent() {
  const char* given = std::getenv("MEMPROF_ARENA_DIR");
  if (given != nullptr) return given;
  if (access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  const char* temporary = std::getenv("TMPDIR");
  return temporary != nullptr && temporary[0] == '/' ? temporary : "/tmp";
}

}  // namespace memprof::cli
