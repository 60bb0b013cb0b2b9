// SPDX-License-Identifier: Apache-2.0
// While a thread of another process stands still, this command is what it waits for: as long as there is a Haste, the
// command has priority, where that is allowed (root).
//
// Model: at first the highest of the ordinary ones.  Reads of the process's memory wait for the lock of its mappings,
// and a thread that holds it is seldom interrupted by an ordinary priority.  Then, while the thread makes calls, the
// lowest of the real-time ones, with which a wait of this command ends when its time has come; who is not root gets the
// shortest slice instead (from Linux 6.12 on).  Its timers are exact.
//
// Threads: of the calling one.
#pragma once

#include <cstdint>

namespace memprof::cli {

// As sched_setattr takes it (sched_setattr(2)); glibc before 2.41 has no such struct, and later ones have it by that name.
struct SchedulerSettings {
  uint32_t size = 48;
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};
static_assert(sizeof(SchedulerSettings) == 48);

// Of the calling thread.  false: they cannot be read.
bool read_scheduler(SchedulerSettings* settings);

class Haste {
 public:
  Haste();
  ~Haste();
  Haste(const Haste&) = delete;
  Haste& operator=(const Haste&) = delete;

  // From now on the thread makes calls.
  void more();

 private:
  SchedulerSettings before_;
  bool is_known_;  // and an ordinary one: others are left as they are
  int slack_before_ns_;
};

}  // namespace memprof::cli
