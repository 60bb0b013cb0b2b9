// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/memory_map.h"

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

bool parse_line(const std::string& line, MappedFile* mapped) {
  int path_at = 0;
  char execute = '-';
  unsigned long long inode = 0;
  if (std::sscanf(line.c_str(), "%*x-%*x %*c%*c%c%*c %*x %x:%x %llu %n", &execute, &mapped->device_major,
                  &mapped->device_minor, &inode, &path_at) != 4 ||
      path_at == 0 || inode == 0) {
    return false;
  }
  mapped->is_code = execute == 'x';
  mapped->inode = inode;
  mapped->path = line.substr(static_cast<size_t>(path_at));
  return true;
}

}  // namespace

int visit_mapped_files(uint64_t pid, const std::function<bool(const MappedFile&)>& visit) {
  errno = 0;
  std::ifstream maps(proc_path(pid, "maps"));
  bool any = false;
  for (std::string line; std::getline(maps, line); any = true) {
    MappedFile mapped;
    if (parse_line(line, &mapped) && visit(mapped)) return 0;
  }
  if (any) return 0;
  return errno != 0 ? errno : ESRCH;
}

}  // namespace memprof::cli
