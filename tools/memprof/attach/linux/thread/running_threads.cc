// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/running_threads.h"

#include <time.h>

#include <algorithm>
#include <vector>

#include "memprof/attach/linux/thread/thread_facts.h"
#include "memprof/attach/linux/thread/traced_thread.h"

namespace memprof::cli {
namespace {

constexpr uint64_t kRanNs = 1'000'000;
constexpr int64_t kMaxNs = 100'000'000;
constexpr timespec kPause{0, 200'000};

struct Running {
  pid_t thread;
  uint64_t used_before_ns;
};

}  // namespace

bool wait_for_running_threads(uint64_t process) {
  std::vector<Running> running;
  for (const pid_t thread : threads_of(process)) running.push_back({thread, used_ns(process, thread)});
  const int64_t end = monotonic_ns() + kMaxNs;
  for (;;) {
    const auto has_left = [process](const Running& r) {
      return !state_of(process, r.thread).is_under_way() ||
             used_ns(process, r.thread) >= r.used_before_ns + kRanNs;
    };
    running.erase(std::remove_if(running.begin(), running.end(), has_left), running.end());
    if (running.empty() || monotonic_ns() >= end) return running.empty();
    nanosleep(&kPause, nullptr);
  }
}

}  // namespace memprof::cli
