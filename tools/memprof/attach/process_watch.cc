// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/process_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "memprof/attach/thread/traced_thread.h"
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

// An arena is mostly holes.  Returns 0, or the errno.
int copy_data(int from, int to, off_t size) {
  std::vector<char> buffer(size_t{1} << 20);
  if (ftruncate(to, size) != 0) return errno;
  for (off_t at = lseek(from, 0, SEEK_DATA); at >= 0 && at < size; at = lseek(from, at, SEEK_DATA)) {
    const off_t end = lseek(from, at, SEEK_HOLE);
    while (at < end) {
      const ssize_t got =
          pread(from, buffer.data(), std::min<size_t>(buffer.size(), static_cast<size_t>(end - at)), at);
      if (got <= 0) return got < 0 ? errno : EIO;
      if (pwrite(to, buffer.data(), static_cast<size_t>(got), at) != got) return errno != 0 ? errno : EIO;
      at += got;
    }
  }
  return 0;
}

}  // namespace

ProcessWatch::ProcessWatch(RunningProcess process) : process_(std::move(process)) {
  const sigset_t set = ending_signals();
  sigprocmask(SIG_BLOCK, &set, &signals_before_);
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  arena_ = open(process_.arena.c_str(), O_RDONLY | O_CLOEXEC);
  process_end_ = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process_.pid), 0));
}

ProcessWatch::~ProcessWatch() {
  for (const int fd : {signals_, arena_, process_end_}) {
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
    const int64_t most_ms = process_end_ >= 0 ? 3'600'000 : 100;
    pollfd ends[2] = {{signals_, POLLIN, 0}, {process_end_, POLLIN, 0}};
    const int count = poll(ends, 2, static_cast<int>(std::min(left_ms, most_ms)));
    if (count < 0 && errno != EINTR) throw Failure("attach: cannot wait: " + error_text(errno), 1);
    if (ends[1].revents != 0 || !is_running(process_.pid)) {
      keep_arena();
      return End::kProcessEnded;
    }
    signalfd_siginfo signal;
    if (ends[0].revents != 0 && read(signals_, &signal, sizeof(signal)) > 0) return End::kSignal;
  }
}

void ProcessWatch::keep_arena() {
  folder_.emplace();
  const std::string path = folder_->path() + process_.arena.substr(process_.arena.rfind('/'));
  const int to = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  struct stat facts{};
  int error = to < 0 || fstat(arena_, &facts) != 0 ? errno : 0;
  if (error == 0) error = copy_data(arena_, to, facts.st_size);
  if (to >= 0) close(to);
  if (error != 0)
    throw Failure(path + ": the data of the process could not be kept: " + error_text(error), 1);
  process_.arena = path;
}

}  // namespace memprof::cli
