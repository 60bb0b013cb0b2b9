// SPDX-License-Identifier: Apache-2.0
// Memory, process, clocks of the seam (platform/memory.h, process.h), and random numbers (clock.h), by system
// calls.
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "cpu/facts.h"
#include "format/hash.h"
#include "platform/clock.h"
#include "platform/linux/memory/own_pages.h"
#include "platform/linux/memory/proc_file.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

std::atomic<bool> g_is_sandboxed{false};  // relaxed: set by who loads the filter, before it does
std::atomic<uint64_t> g_seed{0};          // 0: none yet; else odd

uint64_t first_seed() {
  uint64_t seed = 0;
  constexpr unsigned kNonBlocking = 1;
  if (syscall(SYS_getrandom, &seed, sizeof(seed), kNonBlocking) == sizeof(seed)) {
    return seed;
  }
  const auto* start_random = reinterpret_cast<const uint64_t*>(getauxval(AT_RANDOM));
  return (start_random != nullptr ? *start_random : 0) ^ monotonic_ns() * kGolden ^
         (uint64_t{thread_id()} << 40);
}

char g_program_path[4096];

}  // namespace

void* reserve_pages(size_t size_bytes) {
  void* p = map_own(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
  if (p == MAP_FAILED) {
    return nullptr;
  }
  advise_sparse(p, size_bytes);
  return p;
}

void release_pages(void* start, size_t size_bytes) {
  unmap_own(start, size_bytes);
}

void advise_sparse(void* start, size_t size_bytes) {
  if (!is_own(reinterpret_cast<uint64_t>(start))) {
    note_own(start, size_bytes);  // it lies in the library's data
  }
  madvise(start, size_bytes, MADV_NOHUGEPAGE);
}

namespace {

// One system call in place of a fault for each page.  Kernels before 5.14 refuse it, and the pages come one by one.
void populate(uintptr_t start, size_t size_bytes) {
  constexpr int kPopulateWrite = 23;      // MADV_POPULATE_WRITE, which older headers do not have
  constexpr uintptr_t kPageBytes = 4096;  // larger ones are refused, too
  constexpr size_t kMinPages = 4;
  const uintptr_t first = start / kPageBytes * kPageBytes;
  const uintptr_t end = (start + size_bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (end - first >= kMinPages * kPageBytes) {
    madvise(reinterpret_cast<void*>(first), end - first, kPopulateWrite);
  }
}

}  // namespace

void advise_dense(void* start, size_t size_bytes) {
  constexpr uintptr_t kHugeBytes = uintptr_t{2} << 20;
  constexpr size_t kMinBytes = 8 * kHugeBytes;
  if (is_sandboxed()) {
    return;
  }
  if (size_bytes < kMinBytes) {
    populate(reinterpret_cast<uintptr_t>(start), size_bytes);
    return;
  }
  // Whole ones only: no page more than is touched.
  const uintptr_t first = (reinterpret_cast<uintptr_t>(start) + kHugeBytes - 1) / kHugeBytes * kHugeBytes;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(start) + size_bytes) / kHugeBytes * kHugeBytes;
  madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);  // else small ones, as before
}

bool is_sandboxed() {
  return g_is_sandboxed.load(std::memory_order_relaxed);
}

void set_sandboxed(bool sandboxed) {
  g_is_sandboxed.store(sandboxed, std::memory_order_relaxed);
}

// The kernel is asked once in a process.  A fork child goes on from its parent's, at another time.
uint64_t random_seed() {
  uint64_t first = g_seed.load(std::memory_order_relaxed);
  if (first == 0) {
    first = first_seed() | 1;
    uint64_t none = 0;
    g_seed.compare_exchange_strong(none, first, std::memory_order_relaxed);
  }
  return mix_hash(g_seed.fetch_add(2 * kGolden, std::memory_order_relaxed)) ^ mix_hash(monotonic_ns());
}

uint32_t thread_id() {
  return is_sandboxed() ? 0 : static_cast<uint32_t>(syscall(SYS_gettid));
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
// Field 22 of /proc/self/stat, in clock ticks since the machine's start.
uint64_t process_start() {
  char text[1024];
  const size_t got = read_proc("/proc/self/stat", text, sizeof(text));
  size_t at = got;
  while (at > 0 && text[at - 1] != ')') {  // the program's name may have anything in it
    --at;
  }
  constexpr int kSpacesBefore = 20;  // behind the name
  for (int spaces = 0; at < got && spaces < kSpacesBefore; ++at) {
    spaces += text[at] == ' ' ? 1 : 0;
  }
  uint64_t ticks = 0;
  for (; at < got && text[at] >= '0' && text[at] <= '9'; ++at) {
    ticks = ticks * 10 + static_cast<uint64_t>(text[at] - '0');
  }
  return ticks;
}
uint64_t start_of_new_process() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const uint64_t ticks_a_second = getauxval(AT_CLKTCK);
  return static_cast<uint64_t>(now.tv_sec) * ticks_a_second +
         static_cast<uint64_t>(now.tv_nsec) * ticks_a_second / 1'000'000'000;
}
void order_all_threads() {
  if (cpu::kKeepsOrder) {
    return;
  }
  constexpr int kPrivateExpedited = 8;
  constexpr int kRegisterPrivateExpedited = 16;
  syscall(SYS_membarrier, kRegisterPrivateExpedited, 0, 0);
  syscall(SYS_membarrier, kPrivateExpedited, 0, 0);
}

void yield_thread() {
  sched_yield();
}
// Not the function of libc, in which a thread can be cancelled.
void pause_thread() {
  const timespec pause{0, 50'000};
  syscall(SYS_nanosleep, &pause, nullptr);
}
// Asked of the kernel's own note every time: it is there before libc is, and stays when the process gives its
// rights up.
bool is_privileged() {
  return getauxval(AT_SECURE) != 0;
}

size_t program_arguments(char* text, size_t size_bytes) {
  return is_sandboxed() ? 0 : read_proc("/proc/self/cmdline", text, size_bytes);
}

size_t process_name(char* text, size_t size_bytes) {
  const size_t got = is_sandboxed() ? 0 : read_proc("/proc/self/comm", text, size_bytes);
  return got != 0 && text[got - 1] == '\n' ? got - 1 : got;
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
