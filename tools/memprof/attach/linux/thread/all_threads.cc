// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/all_threads.h"

#include <cerrno>

#include "memprof/attach/linux/thread/thread_facts.h"
#include "memprof/console/console.h"

namespace memprof::cli {

bool AllThreads::is_known(pid_t thread) const {
  for (const TracedThread& known : threads_) {
    if (known.id() == thread) return true;
  }
  return false;
}

// true: there were some.
bool AllThreads::seize_new(std::string* why) {
  bool has_new = false;
  for (const pid_t thread : threads_of(process_)) {
    if (is_known(thread)) continue;
    threads_.emplace_back(thread);
    const int error = threads_.back().error();
    if (error == 0) {
      has_new = true;
      threads_.back().ask_to_stop();
    } else if (!state_of(process_, thread).executes_nothing()) {
      *why = "its thread " + std::to_string(thread) + " cannot be traced: " + error_text(error);
    }
  }
  return has_new;
}

std::string AllThreads::stop(int64_t timeout_ns) {
  const int64_t end = monotonic_ns() + timeout_ns;
  std::string why;
  size_t waited = 0;
  while (seize_new(&why) && why.empty()) {
    for (; waited < threads_.size() && why.empty(); ++waited) {
      TracedThread& thread = threads_[waited];
      if (thread.error() != 0) continue;
      const int64_t left = end - monotonic_ns();
      switch (thread.wait(left > 0 ? left : 1)) {
        case TracedThread::Stop::kEvent:
        case TracedThread::Stop::kGone:
          break;
        case TracedThread::Stop::kGroup:
          why = "it was stopped by a signal meanwhile";
          break;
        default:
          why = "its thread " + std::to_string(thread.id()) + " does not stop";
      }
    }
  }
  if (why.empty() && threads_.empty()) why = "it has ended";
  if (!why.empty()) let_go();
  return why;
}

void AllThreads::let_go() {
  // Those that are stopped first: another one may take its time.
  for (TracedThread& thread : threads_) {
    if (thread.is_stopped()) thread.detach();
  }
  while (!threads_.empty()) threads_.pop_back();
}

}  // namespace memprof::cli
