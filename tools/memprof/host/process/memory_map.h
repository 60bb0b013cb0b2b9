// SPDX-License-Identifier: Apache-2.0
// What files a process has mapped.
//
// Threads: no state.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>

namespace memprof::cli {

// A line of /proc/PID/maps.
struct MappedFile {
  bool is_code = false;
  unsigned device_major = 0;
  unsigned device_minor = 0;
  uint64_t inode = 0;
  std::string path;   // as the process sees it
  std::string exact;  // leads to the file itself, whatever has its name now; opening it takes a capability
};

// Whether a file is the mapped one, by its status.
bool is_mapped_file(const MappedFile& mapped, const struct stat& status);

// Calls `visit` for each mapping of a file; true from it ends the search.  Returns 0, or the errno: ESRCH
// where there is no memory (a zombie, a thread of the kernel).
int visit_mapped_files(uint64_t pid, const std::function<bool(const MappedFile&)>& visit);

}  // namespace memprof::cli
