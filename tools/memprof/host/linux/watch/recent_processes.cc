// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/recent_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace memprof::cli {

RecentProcesses::RecentProcesses(uint64_t newest) : RecentProcesses(newest, "/proc/loadavg") {}

RecentProcesses::RecentProcesses(uint64_t newest, const char* path) : fd_(open(path, O_RDONLY | O_CLOEXEC)) {
  // A figure that is older than that process, or none (a sandbox's), is not the kernel's of now.
  if (last_given() >= newest) last_ = newest;
}

RecentProcesses::~RecentProcesses() {
  if (fd_ >= 0) close(fd_);
}

// "0.00 0.01 0.05 1/123 4567"
uint64_t RecentProcesses::last_given() const {
  char text[128] = "";
  if (fd_ < 0 || pread(fd_, text, sizeof(text) - 1, 0) <= 0) return 0;
  const char* const last = std::strrchr(text, ' ');
  return last != nullptr ? std::strtoull(last, nullptr, 10) : 0;
}

bool RecentProcesses::take(std::vector<uint64_t>* ids) {
  if (last_ == 0) return false;
  const uint64_t before = last_;
  const uint64_t now = last_given();
  if (now == 0) return false;
  last_ = now;
  // Ids begin again at the lowest where they are used up.
  if (now < before || now - before > kMaxIds) return false;
  for (uint64_t id = before + 1; id <= now; ++id) ids->push_back(id);
  return true;
}

}  // namespace memprof::cli
