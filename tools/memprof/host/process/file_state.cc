// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/file_state.h"

#include <sys/stat.h>

namespace memprof::cli {

std::string file_state(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};
  return std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec) + " " + std::to_string(status.st_dev) + ":" +
         std::to_string(status.st_ino);
}

}  // namespace memprof::cli
