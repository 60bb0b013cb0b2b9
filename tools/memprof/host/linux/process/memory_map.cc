// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/memory_map.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

bool parse_line(uint64_t pid, const std::string& line, MappedFile* mapped) {
  int path_at = 0;
  char execute = '-';
  unsigned long long inode = 0;
  unsigned long long begin = 0;
  unsigned long long end = 0;
  if (std::sscanf(line.c_str(), "%llx-%llx %*c%*c%c%*c %*x %x:%x %llu %n", &begin, &end, &execute,
                  &mapped->device_major, &mapped->device_minor, &inode, &path_at) != 6 ||
      path_at == 0 || inode == 0) {
    return false;
  }
  mapped->is_code = execute == 'x';
  mapped->inode = inode;
  mapped->path = line.substr(static_cast<size_t>(path_at));
  mapped->exact = fmt::format("{}/{:x}-{:x}", proc_path(pid, "map_files"), begin, end);
  return true;
}

}  // namespace

bool is_mapped_file(const MappedFile& mapped, const struct stat& status) {
  // Where a file system has several devices inside (btrfs, overlayfs), the map has another one than stat(), which then has
  // one without a driver.
  return status.st_ino == mapped.inode &&
         (major(status.st_dev) == 0 ||
          (major(status.st_dev) == mapped.device_major && minor(status.st_dev) == mapped.device_minor));
}

int visit_mapped_files(uint64_t pid, const std::function<bool(const MappedFile&)>& visit) {
  errno = 0;
  std::ifstream maps(proc_path(pid, "maps"));
  bool any = false;
  for (std::string line; std::getline(maps, line); any = true) {
    MappedFile mapped;
    if (parse_line(pid, line, &mapped) && visit(mapped)) return 0;
  }
  if (any) return 0;
  return errno != 0 ? errno : ESRCH;
}

}  // namespace memprof::cli
