// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/thread/all_threads.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "memprof/console/console.h"
#include "memprof/host/process/proc_path.h"

namespace memprof::cli {
namespace {

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> found;
  std::error_code error;
  std::filesystem::directory_iterator at(proc_path(static_cast<uint64_t>(process), "task"), error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    found.push_back(static_cast<pid_t>(std::atoi(at->path().filename().c_str())));
  }
  return found;
}

// Of the kernel's own (io_uring), which execute nothing of the program; or it has ended.
bool executes_nothing(pid_t process, pid_t thread) {
  constexpr uint64_t kIoWorker = 0x10;  // PF_IO_WORKER
  std::ifstream file(proc_path(static_cast<uint64_t>(process), "task/" + std::to_string(thread) + "/stat"));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return true;  // it is not there any more
  std::istringstream rest(line.substr(name_end + 1));
  std::string state, parent, group, session, terminal, foreground;
  uint64_t flags = 0;
  rest >> state >> parent >> group >> session >> terminal >> foreground >> flags;
  return state == "Z" || state == "X" || (flags & kIoWorker) != 0;
}

}  // namespace

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
    } else if (!executes_nothing(process_, thread)) {
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
