// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/group_witness.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace memprof::cli {
namespace {

// The kernel signals all processes of a group in one go; this is for one that is interrupted while it does.
constexpr int kMomentMs = 20;
// Until the witness says what it got: it is awake, and the machine may be busy.
constexpr int kLongMs = 2000;

// By number, the same for every processor: glibc has a function for it since 2.34 only, kernels have it since
// 5.9.
void close_from(int first) {
  constexpr long kCloseRange = 436;
  if (syscall(kCloseRange, first, ~0u, 0) == 0) return;
  constexpr long kMax = 1 << 20;  // of Linux by default, whatever the limit says
  const long limit = sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < (limit > 0 && limit < kMax ? limit : kMax); ++fd) ::close(fd);
}

[[noreturn]] void wait_for_signals(const sigset_t& signals, int words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  prctl(PR_SET_NAME, "memprof-signals");
  // Nobody's end of a pipe is held open.
  if (dup2(words, STDIN_FILENO) < 0) _exit(0);
  close_from(1);
  for (;;) {
    const int signal = sigwaitinfo(&signals, nullptr);
    if (signal < 0) continue;
    const auto word = static_cast<unsigned char>(signal);
    if (::write(STDIN_FILENO, &word, 1) != 1) _exit(0);
  }
}

}  // namespace

GroupWitness::GroupWitness(const sigset_t& signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) wait_for_signals(signals, ends[1], parent);
  ::close(ends[1]);
  words_ = ends[0];
  std::snprintf(status_path_, sizeof(status_path_), "/proc/%d/status", static_cast<int>(pid_));
}

GroupWitness::~GroupWitness() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (words_ >= 0) ::close(words_);
}

// Sent to it, and not taken yet.
bool GroupWitness::is_on_its_way(int signal) const {
  char text[4096];
  const int fd = ::open(status_path_, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = ::read(fd, text, sizeof(text) - 1);
  ::close(fd);
  text[size > 0 ? size : 0] = '\0';
  const char* pending = std::strstr(text, "\nShdPnd:");
  return pending != nullptr && (std::strtoull(pending + 8, nullptr, 16) >> (signal - 1) & 1) != 0;
}

bool GroupWitness::take_word(int signal) {
  unsigned char word = 0;
  ssize_t size = 0;
  while ((size = ::read(words_, &word, 1)) == 1) seen_ |= uint64_t{1} << word;
  is_gone_ = size == 0;
  const bool found = (seen_ >> signal & 1) != 0;
  seen_ &= ~(uint64_t{1} << signal);
  return found;
}

bool GroupWitness::saw(int signal) {
  if (pid_ <= 0) return false;
  pollfd words{words_, POLLIN, 0};
  while (!take_word(signal)) {
    if (is_gone_ || poll(&words, 1, is_on_its_way(signal) ? kLongMs : kMomentMs) <= 0)
      return take_word(signal);
  }
  return true;
}

}  // namespace memprof::cli
