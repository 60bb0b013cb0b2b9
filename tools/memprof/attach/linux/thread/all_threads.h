// SPDX-License-Identifier: Apache-2.0
// All threads of another process, stopped at the same time, whatever signals they block.
//
// Model: threads that run make new ones; so the kernel's list is read until it has none that is not stopped.  Nobody is left then
// who could make one.
//
// Threads: the one that made the object.
// Failure: a text; none of them stays stopped.  When this process is killed, the kernel lets them go on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <string>

#include "memprof/attach/linux/thread/traced_thread.h"

namespace memprof::cli {

class AllThreads {
 public:
  explicit AllThreads(uint64_t process) : process_(process) {}
  ~AllThreads() { let_go(); }
  AllThreads(const AllThreads&) = delete;
  AllThreads& operator=(const AllThreads&) = delete;

  // "": they are stopped; else why they are not.
  std::string stop(int64_t timeout_ns);
  void let_go();

  // visit(thread) for each that is stopped, until it returns false.
  template <typename Visit>
  bool each(const Visit& visit) const {
    for (const TracedThread& thread : threads_) {
      if (thread.is_stopped() && !visit(thread)) return false;
    }
    return true;
  }

 private:
  bool seize_new(std::string* why);
  bool is_known(pid_t thread) const;

  uint64_t process_;
  std::deque<TracedThread> threads_;
};

}  // namespace memprof::cli
