// SPDX-License-Identifier: Apache-2.0
// What POSIX says of a process and its threads (platform/process.h).
#include "platform/process.h"

#include <sched.h>
#include <unistd.h>

namespace memprof::platform {

uint32_t process_id() {
  return static_cast<uint32_t>(getpid());
}

// Of file capabilities POSIX says nothing.
bool is_privileged() {
  return getuid() != geteuid() || getgid() != getegid();
}

void yield_thread() {
  sched_yield();
}
// POSIX has no wait in which a thread cannot be cancelled.
void pause_thread() {
  sched_yield();
}

}  // namespace memprof::platform
