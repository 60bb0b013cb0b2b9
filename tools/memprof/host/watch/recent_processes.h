// SPDX-License-Identifier: Apache-2.0
// Which process ids were given since the last look, so that new processes are found without a look at all of /proc.
//
// The kernel gives ids in ascending order and says which one was the last (/proc/loadavg).  Threads have ids, too.
//
// Threads: one at a time.
// Owns: a descriptor.
// Failure: where the kernel does not say (a container with a /proc/loadavg of its own), all processes may be new.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace memprof::cli {

class RecentProcesses {
 public:
  // More of them are not counted up: a look at all processes costs less.
  static constexpr uint64_t kMaxIds = 1024;

  // `newest`: a process that was made just now; what came after it is recent.
  explicit RecentProcesses(uint64_t newest);
  RecentProcesses(uint64_t newest, const char* path);
  ~RecentProcesses();
  RecentProcesses(const RecentProcesses&) = delete;
  RecentProcesses& operator=(const RecentProcesses&) = delete;

  // Appends the ids since the last call, ascending.  false: any process may be new.
  bool take(std::vector<uint64_t>* ids);

 private:
  uint64_t last_given() const;

  int fd_ = -1;
  uint64_t last_ = 0;  // 0: the kernel does not say
};

}  // namespace memprof::cli
