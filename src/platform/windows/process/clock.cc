// SPDX-License-Identifier: Apache-2.0
#include "platform/clock.h"

#include <atomic>

#include "format/hash.h"
#include "platform/windows/process/file_time.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

constexpr uint64_t kNsPerSecond = 1000000000;
constexpr uint64_t kNsPerTick = 100;                   // of FILETIME
constexpr uint64_t kEpochTicks = 116444736000000000u;  // 1970, from 1601

std::atomic<bool> g_is_stopped{false};  // relaxed
std::atomic<uint64_t> g_stopped_ns{0};  // relaxed
std::atomic<uint64_t> g_frequency{0};   // relaxed: everybody finds the same
std::atomic<uint64_t> g_seeds{0};       // relaxed: each call needs another number

uint64_t counter() {
  LARGE_INTEGER now;
  QueryPerformanceCounter(&now);
  return static_cast<uint64_t>(now.QuadPart);
}

uint64_t read_ns() {
  uint64_t frequency = g_frequency.load(std::memory_order_relaxed);
  if (frequency == 0) {
    LARGE_INTEGER found;
    QueryPerformanceFrequency(&found);
    frequency = static_cast<uint64_t>(found.QuadPart);
    g_frequency.store(frequency, std::memory_order_relaxed);
  }
  const uint64_t now = counter();
  return now / frequency * kNsPerSecond + now % frequency * kNsPerSecond / frequency;
}

}  // namespace

// Windows has no source of random numbers below a DLL of its own: from clocks, addresses that are chosen at random, and ids.
uint64_t random_seed() {
  const uint64_t number = g_seeds.fetch_add(kGolden, std::memory_order_relaxed);
  const uint64_t ids = (uint64_t{GetCurrentProcessId()} << 32) | thread_block_word(kThreadId);
  return mix_hash(number ^ __builtin_ia32_rdtsc()) ^ mix_hash(counter() ^ thread_block_word(kSelf)) ^
         mix_hash(unix_ns() + ids * kGolden);
}

uint64_t monotonic_ns() {
  return __builtin_expect(g_is_stopped.load(std::memory_order_relaxed), 0)
             ? g_stopped_ns.load(std::memory_order_relaxed)
             : read_ns();
}

uint64_t process_cpu_ns() {
  FILETIME made, ended, kernel, user;
  return GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user)
             ? (ticks_of(kernel) + ticks_of(user)) * kNsPerTick
             : 0;
}

uint64_t thread_cpu_ns() {
  FILETIME made, ended, kernel, user;
  return GetThreadTimes(GetCurrentThread(), &made, &ended, &kernel, &user)
             ? (ticks_of(kernel) + ticks_of(user)) * kNsPerTick
             : 0;
}

void stop_clock(bool stopped) {
  g_stopped_ns.store(stopped ? read_ns() : 0, std::memory_order_relaxed);
  g_is_stopped.store(stopped, std::memory_order_relaxed);
}

uint64_t unix_ns() {
  FILETIME now;
  GetSystemTimePreciseAsFileTime(&now);
  return (ticks_of(now) - kEpochTicks) * kNsPerTick;
}

}  // namespace memprof::platform
