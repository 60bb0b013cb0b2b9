// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/thread/first_breakpoint.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

constexpr int64_t kStopNs = 1'000'000'000;

[[noreturn]] void do_nothing_while(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (getppid() == parent) pause();  // it may have ended before that
  _exit(0);
}

}  // namespace

void FirstBreakpoint::make() {
  if (child_ != 0) return;
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) do_nothing_while(parent);
  if (child_ < 0) return;
  thread_ = std::make_unique<TracedThread>(child_);
  is_made_ = thread_->error() == 0 && thread_->interrupt(kStopNs) == TracedThread::Stop::kEvent &&
             thread_->set_breakpoint(reinterpret_cast<uint64_t>(&do_nothing_while));
}

FirstBreakpoint::~FirstBreakpoint() {
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, __WALL);
  thread_.reset();
}

}  // namespace memprof::cli
