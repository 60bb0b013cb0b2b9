// SPDX-License-Identifier: Apache-2.0
// A write over the file size limit, or to a pipe that nobody reads, fails with an error as any other, instead
// of ending the profiled program by SIGXFSZ or SIGPIPE.  Both go to the thread that writes.
//
// Threads: of the calling thread.  Signals: may be used in a handler.
#pragma once

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace memprof::platform {

// While one lives, the two are held; what our writes raised is gone when it ends.
class WriteSignalsHeld {
 public:
  WriteSignalsHeld() {
    const bool is_pending_known = syscall(SYS_rt_sigpending, &pending_, sizeof(pending_)) == 0;
    is_held_ = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kSignals, &mask_, sizeof(mask_)) == 0;
    if (!is_pending_known) {
      pending_ = mask_;  // those that the program blocks can wait on without harm
    }
  }
  ~WriteSignalsHeld() {
    if (!is_held_) {
      return;  // a sandbox forbids it: the mask is the program's, and unknown
    }
    const int saved_errno = errno;
    const uint64_t raised = kSignals & ~pending_;  // one that waited before is the program's own
    const timespec now{};
    while (syscall(SYS_rt_sigtimedwait, &raised, nullptr, &now, sizeof(raised)) > 0) {
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_, nullptr, sizeof(mask_));
    errno = saved_errno;
  }
  WriteSignalsHeld(const WriteSignalsHeld&) = delete;
  WriteSignalsHeld& operator=(const WriteSignalsHeld&) = delete;

 private:
  // As the kernel has them: a bit for each signal.
  static constexpr uint64_t kSignals = uint64_t{1} << (SIGXFSZ - 1) | uint64_t{1} << (SIGPIPE - 1);
  uint64_t pending_ = 0;
  uint64_t mask_ = 0;
  bool is_held_ = false;
};

}  // namespace memprof::platform
