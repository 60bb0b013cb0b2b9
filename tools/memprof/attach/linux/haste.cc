// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/haste.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

constexpr uint64_t kResetOnFork = 1;  // SCHED_FLAG_RESET_ON_FORK
constexpr int kHighest = -20;
constexpr uint64_t kSliceNs = 100'000;  // the shortest

bool set_scheduler(const SchedulerSettings& settings) {
  return syscall(SYS_sched_setattr, 0, &settings, 0) == 0;
}

}  // namespace

bool read_scheduler(SchedulerSettings* settings) {
  return syscall(SYS_sched_getattr, 0, settings, sizeof(*settings), 0) == 0;
}

Haste::Haste() : is_known_(read_scheduler(&before_)), slack_before_ns_(prctl(PR_GET_TIMERSLACK)) {
  prctl(PR_SET_TIMERSLACK, 1UL);
  is_known_ = is_known_ && before_.policy == SCHED_OTHER;
  if (!is_known_) return;
  SchedulerSettings high = before_;
  high.nice = kHighest;
  set_scheduler(high);
}

void Haste::more() {
  if (!is_known_) return;
  SchedulerSettings above_all;
  above_all.policy = SCHED_RR;
  above_all.priority = 1;
  above_all.flags = kResetOnFork;
  if (set_scheduler(above_all)) return;
  SchedulerSettings quick = before_;
  quick.runtime_ns = kSliceNs;
  set_scheduler(quick);
}

Haste::~Haste() {
  prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack_before_ns_));
  if (!is_known_ || set_scheduler(before_)) return;
  before_.flags |= kResetOnFork;  // which only root may take back
  set_scheduler(before_);
}

}  // namespace memprof::cli
