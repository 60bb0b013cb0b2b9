// SPDX-License-Identifier: Apache-2.0
// The process and its threads (platform/process.h): a fork child is told by platform/posix/fork_handler.h.
#include "platform/process.h"

#include <mach-o/dyld.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include "format/files/arena_name.h"
#include "platform/clock.h"
#include "platform/darwin/process/thread_data.h"
#include "platform/posix/fork_handler.h"

namespace memprof::platform {
namespace {

uint64_t microseconds_of(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1000000 + static_cast<uint64_t>(time.tv_usec);
}

}  // namespace

void reset_in_child() {
  reset_engine_in_child(forget_other_threads);
}

// A process that enters a sandbox (sandbox_init) gets errors for what it may not do, and goes on.
bool is_sandboxed() {
  return false;
}
void set_sandboxed(bool) {}

uint32_t thread_id() {
  uint64_t id = 0;
  return pthread_threadid_np(nullptr, &id) == 0 ? static_cast<uint32_t>(id) : 0;
}
uint32_t process_id() {
  return static_cast<uint32_t>(getpid());
}
uint64_t process_namespace() {
  return 0;
}
// Microseconds since 1970.
uint64_t process_start() {
  kinfo_proc info{};
  size_t size = sizeof(info);
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, getpid()};
  if (sysctl(name, 4, &info, &size, nullptr, 0) != 0 || size == 0) {
    return 0;
  }
  return microseconds_of(info.kp_proc.p_starttime);
}
uint64_t start_of_new_process() {
  return unix_ns() / 1000;
}

const char* program_path() {
  static char path[1024];
  uint32_t size = sizeof(path);
  if (path[0] == '\0' && _NSGetExecutablePath(path, &size) != 0) {
    path[0] = '\0';
  }
  return path;
}

// The kernel's copy: a number, the path of the executable, NULs, then the arguments.
size_t program_arguments(char* text, size_t size_bytes) {
  static char all[16 * 1024];
  size_t size = sizeof(all);
  int name[] = {CTL_KERN, KERN_PROCARGS2, getpid()};
  int count = 0;
  if (sysctl(name, 3, all, &size, nullptr, 0) != 0 || size <= sizeof(count)) {
    return 0;
  }
  memcpy(&count, all, sizeof(count));
  const char* at = all + sizeof(count);
  const char* const end = all + size;
  at += strnlen(at, static_cast<size_t>(end - at));
  while (at < end && *at == '\0') {
    ++at;
  }
  size_t used = 0;
  for (int i = 0; i < count && at < end; ++i) {
    const size_t length = strnlen(at, static_cast<size_t>(end - at));
    if (used + length + 1 > size_bytes) {
      break;
    }
    memcpy(text + used, at, length);
    text[used + length] = '\0';
    used += length + 1;
    at += length + 1;
  }
  return used;
}
size_t process_name(char*, size_t) {
  return 0;
}

bool is_privileged() {
  return issetugid() != 0 || getuid() != geteuid() || getgid() != getegid();
}

const char* arena_folder() {
  return is_privileged() ? "" : usual_arena_folder(false, environment("TMPDIR"));
}

void yield_thread() {
  sched_yield();
}
void pause_thread() {
  sched_yield();
}

// macOS has no call that passes a barrier to every thread.  It is asked for by hooks of a language runtime alone, which are
// not set here.
void order_all_threads() {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace memprof::platform
