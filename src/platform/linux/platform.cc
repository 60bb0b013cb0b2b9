// SPDX-License-Identifier: Apache-2.0
// Memory, process, clocks of the seam (core/platform.h), by system calls.
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/platform.h"

namespace memprof::platform {
namespace {

constexpr uint64_t kNsPerSecond = 1000000000;

uint64_t read_clock(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * kNsPerSecond + static_cast<uint64_t>(t.tv_nsec);
}

char g_program_path[4096];

}  // namespace

void* reserve_pages(size_t size_bytes) {
  void* p =
      mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) {
    return nullptr;
  }
  advise_sparse(p, size_bytes);
  return p;
}

void release_pages(void* start, size_t size_bytes) {
  munmap(start, size_bytes);
}

void advise_sparse(void* start, size_t size_bytes) {
  madvise(start, size_bytes, MADV_NOHUGEPAGE);
}

uint64_t random_seed() {
  uint64_t seed = 0;
  constexpr unsigned kNonBlocking = 1;
  if (syscall(SYS_getrandom, &seed, sizeof(seed), kNonBlocking) == sizeof(seed)) {
    return seed;
  }
  const auto* start_random = reinterpret_cast<const uint64_t*>(getauxval(AT_RANDOM));
  return (start_random != nullptr ? *start_random : 0) ^ monotonic_ns() * 0x9e3779b97f4a7c15ull ^
         (uint64_t{thread_id()} << 40);
}

uint64_t monotonic_ns() {
  return read_clock(CLOCK_MONOTONIC);
}
uint64_t unix_ns() {
  return read_clock(CLOCK_REALTIME);
}
uint32_t thread_id() {
  return static_cast<uint32_t>(syscall(SYS_gettid));
}
uint32_t process_id() {
  return static_cast<uint32_t>(syscall(SYS_getpid));
}
uint64_t process_namespace() {
  char link[64];  // "pid:[4026531836]"
  const ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link));
  uint64_t id = 0;
  for (ssize_t i = 0; i < length; ++i) {
    id = link[i] >= '0' && link[i] <= '9' ? id * 10 + static_cast<uint64_t>(link[i] - '0') : id;
  }
  return id;
}
// x86-64 keeps loads and stores in order.
void order_all_threads() {
#if !defined(__x86_64__)
  constexpr int kPrivateExpedited = 8;
  constexpr int kRegisterPrivateExpedited = 16;
  syscall(SYS_membarrier, kRegisterPrivateExpedited, 0, 0);
  syscall(SYS_membarrier, kPrivateExpedited, 0, 0);
#endif
}

void yield_thread() {
  sched_yield();
}
const char* environment(const char* name) {
  return environ != nullptr ? getenv(name) : nullptr;
}

const char* program_path() {
  if (g_program_path[0] == '\0') {
    const ssize_t length = readlink("/proc/self/exe", g_program_path, sizeof(g_program_path) - 1);
    if (length < 0) {
      // No /proc, or no access to it: the path that the program was executed by.
      g_program_path[0] = '\0';
      const auto* executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
      if (executed != nullptr && executed[0] == '/' && strlen(executed) < sizeof(g_program_path)) {
        memcpy(g_program_path, executed, strlen(executed) + 1);
      }
    }
  }
  return g_program_path;
}

}  // namespace memprof::platform
