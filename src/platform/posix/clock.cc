// SPDX-License-Identifier: Apache-2.0
// Times of the seam (platform/clock.h).
#include <time.h>

#include <atomic>

#include "platform/clock.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr uint64_t kNsPerSecond = 1000000000;

uint64_t read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * kNsPerSecond + static_cast<uint64_t>(t.tv_nsec);
}

std::atomic<uint64_t> g_stopped_ns{0};  // relaxed; 0: it runs

}  // namespace

uint64_t monotonic_ns() {
  const uint64_t stopped = g_stopped_ns.load(std::memory_order_relaxed);
  return stopped != 0 ? stopped : read_clock(CLOCK_MONOTONIC);
}
void stop_clock(bool stopped) {
  g_stopped_ns.store(stopped ? monotonic_ns() : 0, std::memory_order_relaxed);
}
uint64_t process_cpu_ns() {
  return is_sandboxed() ? 0 : read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
uint64_t thread_cpu_ns() {
  return is_sandboxed() ? 0 : read_clock(CLOCK_THREAD_CPUTIME_ID);
}
uint64_t unix_ns() {
  return read_clock(CLOCK_REALTIME);
}

}  // namespace memprof::platform
