// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <iterator>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/watch/group_witness.h"

namespace memprof::cli {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
// Of those, what ends memprof once the program has ended.
constexpr int kEnding[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
// What ended the program may come to memprof twice: `timeout` sends it to its child, and then to the group.
constexpr int64_t kSameSignalNs = 1'000'000'000;

// Written with all signals blocked.
volatile pid_t forward_to = 0;
GroupWitness* volatile witness = nullptr;

// When each was last had; by the one thread that has them.
volatile int64_t seen_at_ns[NSIG];

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// In a handler.
void end_by(int signal) {
  const int64_t seen = seen_at_ns[signal];
  if (seen != 0 && now_ns() - seen < kSameSignalNs) return;
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  raise(signal);  // comes when the handler has returned
}

void forward(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  seen_at_ns[signal] = now_ns();
  // What goes to the whole process group, the program has already, if it is still in it; and what the
  // terminal sends goes there.
  const bool is_groups = witness != nullptr && witness->saw(signal) && getpgid(forward_to) == getpgrp();
  if (info->si_code <= 0 && !is_groups && forward_to > 0) kill(forward_to, signal);
  errno = saved;
}

sigset_t forwarded_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kForwarded) sigaddset(&set, signal);
  return set;
}

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  const sigset_t* before() const { return &before_; }

 private:
  sigset_t before_;
};

void close_end(int* fd) {
  if (*fd >= 0) ::close(*fd);
  *fd = -1;
}

ssize_t read_once(int fd, void* data, size_t size) {
  while (true) {
    const ssize_t got = ::read(fd, data, size);
    if (got >= 0 || errno != EINTR) return got;
  }
}

void set_ignored(int signal) {
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  sigaction(signal, &action, nullptr);
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const Environment& environment,
                           const std::string& pid_variable, ProgramOutput output) {
  if (pipe2(go_, O_CLOEXEC) != 0 || pipe2(failed_, O_CLOEXEC) != 0) {
    const int error = errno;
    for (int* fd : {&go_[0], &go_[1], &failed_[0], &failed_[1]}) close_end(fd);
    throw Failure("run: no pipe: " + error_text(error));
  }
  const SignalsBlocked blocked;
  witness_.emplace(forwarded_signals());
  pid_ = fork();
  if (pid_ == 0) {
    sigprocmask(SIG_SETMASK, blocked.before(), nullptr);
    run_child(command, environment, pid_variable, output);
  }
  const int error = errno;
  close_end(&failed_[1]);
  if (pid_ < 0) {
    for (int* fd : {&go_[0], &go_[1], &failed_[0]}) close_end(fd);
    throw Failure("run: cannot start a process: " + error_text(error));
  }
  take_signals();
}

ChildProcess::~ChildProcess() {
  for (int* fd : {&go_[0], &go_[1], &failed_[0]}) close_end(fd);
  if (pid_ > 0) reap();
}

void ChildProcess::run_child(const std::vector<std::string>& command, const Environment& environment,
                             const std::string& pid_variable, ProgramOutput output) {
  close_end(&go_[1]);
  close_end(&failed_[0]);
  char go = 0;
  if (read_once(go_[0], &go, 1) != 1) _exit(0);
  if (output == ProgramOutput::kStandardError) dup2(STDERR_FILENO, STDOUT_FILENO);
  for (const auto& [name, value] : environment) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  setenv(pid_variable.c_str(), std::to_string(getpid()).c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  static_cast<void>(!::write(failed_[1], &error, sizeof(error)));
  _exit(kNotFound);
}

void ChildProcess::take_signals() {
  // Ours only, now that the child is there: a write that fails is an error like others.
  set_ignored(SIGXFSZ);
  set_ignored(SIGPIPE);
  forward_to = pid_;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): made above
  witness = &*witness_;
  for (const int signal : kForwarded) {
    struct sigaction before{};
    sigaction(signal, nullptr, &before);
    // What was ignored (nohup, a background job) stays so, for the program, too.
    if (before.sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    action.sa_mask = forwarded_signals();
    sigaction(signal, &action, nullptr);
  }
}

int ChildProcess::start() {
  const char go = 1;
  // Our own reading end is still open: a child that was killed meanwhile raises no SIGPIPE.
  static_cast<void>(!::write(go_[1], &go, 1));
  close_end(&go_[1]);
  close_end(&go_[0]);
  int error = 0;
  const ssize_t got = read_once(failed_[0], &error, sizeof(error));
  close_end(&failed_[0]);
  if (got != static_cast<ssize_t>(sizeof(error))) return 0;
  reap();
  return error;
}

void ChildProcess::reap() {
  // Seen first, reaped with the signals blocked: a process id that is free again is never signalled.
  siginfo_t info;
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  last_name_ = short_name_of(static_cast<uint64_t>(pid_));
  const SignalsBlocked blocked;
  for (const int signal : kForwarded) {
    struct sigaction before{};
    sigaction(signal, nullptr, &before);
    const bool is_ending = std::find(std::begin(kEnding), std::end(kEnding), signal) != std::end(kEnding);
    if (!is_ending || before.sa_handler == SIG_IGN) {
      set_ignored(signal);
      continue;
    }
    struct sigaction action{};
    action.sa_handler = end_by;
    sigaction(signal, &action, nullptr);
  }
  forward_to = 0;
  witness = nullptr;
  rusage used{};
  rusage own{};
  while (wait4(pid_, &status_, 0, &used) < 0 && errno == EINTR) {
  }
  // Before it executed the program it was a copy of this process, and that counts.
  getrusage(RUSAGE_SELF, &own);
  max_resident_bytes_ = used.ru_maxrss > own.ru_maxrss ? static_cast<uint64_t>(used.ru_maxrss) * 1024 : 0;
  pid_ = -1;
}

int ChildProcess::wait() {
  if (pid_ > 0) reap();
  return status_;
}

int exit_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace memprof::cli
