// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/run_events.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "format/files/run_tally.h"

namespace memprof::cli {
namespace {

// Among what events tell of, beside process ids, which are smaller.
constexpr uint64_t kWake = UINT64_MAX;
constexpr uint64_t kFiles = UINT64_MAX - 1;
// The descriptors of a process are few (ulimit -n), and what the command reads needs most of them.
constexpr size_t kMaxEnds = 256;
constexpr rlim_t kPartForEnds = 4;

size_t end_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<size_t>(std::min<rlim_t>(kMaxEnds, limit.rlim_cur / kPartForEnds));
}

int milliseconds(std::chrono::nanoseconds time) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return static_cast<int>(std::clamp<int64_t>(count, 0, 1'000'000));
}

void close_if_open(int fd) {
  if (fd >= 0) close(fd);
}

}  // namespace

RunEvents::RunEvents(const std::string& folder)
    : max_ends_(end_limit()),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!is_usable() || !add(wake_, kWake)) return;
  if (folder.empty()) return;
  files_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (files_ < 0) return;
  // Each process that memprof begins in opens the tally; arenas are read by us, too, so that only their making tells.
  const std::string tally = folder + "/" + kRunTallyName;
  const bool has_folder = inotify_add_watch(files_, folder.c_str(), IN_CREATE | IN_MOVED_TO) >= 0;
  const bool has_tally =
      inotify_add_watch(files_, tally.c_str(), IN_OPEN) >= 0 || access(tally.c_str(), F_OK) != 0;
  if (has_folder && has_tally && add(files_, kFiles)) return;
  close(files_);
  files_ = -1;
}

RunEvents::~RunEvents() {
  for (const auto& [pid, fd] : ends_) close(fd);
  for (const int fd : {files_, wake_, events_}) close_if_open(fd);
}

bool RunEvents::add(int fd, uint64_t what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = what;
  return epoll_ctl(events_, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool RunEvents::watch_end(uint64_t pid) {
  if (ends_.count(pid) != 0) return true;
  if (ends_.size() >= max_ends_) return false;
  // Its descriptor is closed on exec.
  const auto fd = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0));
  if (fd < 0) return false;
  if (!add(fd, pid)) {
    close(fd);
    return false;
  }
  ends_.emplace(pid, fd);
  return true;
}

bool RunEvents::rest(std::chrono::nanoseconds time) const {
  pollfd woken{wake_, POLLIN, 0};
  return poll(&woken, 1, milliseconds(time)) > 0;
}

RunEvents::News RunEvents::wait(std::chrono::nanoseconds at_most) {
  epoll_event happened[64];
  const int count =
      epoll_wait(events_, happened, static_cast<int>(std::size(happened)), milliseconds(at_most));
  News news;
  for (int i = 0; i < count; ++i) {
    const uint64_t what = happened[i].data.u64;
    if (what == kWake) {
      news.is_woken = true;
    } else if (what == kFiles) {
      news.has_files = true;
      char names[4096];
      while (read(files_, names, sizeof(names)) > 0) {
      }
    } else if (const auto end = ends_.find(what); end != ends_.end()) {
      news.ended.push_back(what);
      close(end->second);
      ends_.erase(end);
    }
  }
  return news;
}

void RunEvents::wake() {
  const uint64_t one = 1;
  static_cast<void>(!write(wake_, &one, sizeof(one)));
}

}  // namespace memprof::cli
