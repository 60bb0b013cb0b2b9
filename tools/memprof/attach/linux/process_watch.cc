// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/process_watch.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "memprof/attach/linux/thread/traced_thread.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

ProcessWatch::ProcessWatch(RunningProcess process) : process_(std::move(process)), arena_(process_.arena) {
  const sigset_t set = ending_signals();
  sigprocmask(SIG_BLOCK, &set, &signals_before_);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  process_end_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process_.pid), 0));
}

ProcessWatch::~ProcessWatch() {
  for (const int fd : {signals_, process_end_}) {
    if (fd >= 0) close(fd);
  }
  sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
}

ProcessWatch::End ProcessWatch::wait(double seconds) {
  const int64_t end = monotonic_ns() + static_cast<int64_t>(seconds * 1e9);
  while (true) {
    const int64_t left_ms = (end - monotonic_ns()) / 1'000'000;
    if (left_ms <= 0) return End::kTime;
    // Where the kernel has no descriptors of processes (before 5.3), it is looked for.
    const int64_t max_ms = process_end_ >= 0 ? 3'600'000 : 100;
    pollfd ends[2] = {{signals_, POLLIN, 0}, {process_end_, POLLIN, 0}};
    const int count = poll(ends, 2, static_cast<int>(std::min(left_ms, max_ms)));
    if (count < 0 && errno != EINTR) throw Failure("attach: cannot wait: " + error_text(errno), 1);
    if (ends[1].revents != 0 || !is_running(process_.pid)) {
      process_.arena = arena_.copy();
      return End::kProcessEnded;
    }
    signalfd_siginfo signal;
    if (ends[0].revents != 0 && read(signals_, &signal, sizeof(signal)) > 0) return End::kSignal;
  }
}

}  // namespace memprof::cli
