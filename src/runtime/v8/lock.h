// SPDX-License-Identifier: Apache-2.0
// A lock for a flag: a few instructions, or a millisecond where V8 is asked.  Who waits lets others run.
//
// Threads: any that are not in a hook, which never waits.
// fork: a child resets the flags (reset_in_child of each).
#pragma once

#include <atomic>

#include "platform/process.h"

namespace memprof::v8 {

class Lock {
 public:
  explicit Lock(std::atomic<bool>* flag) : flag_(*flag) {
    while (flag_.exchange(true, std::memory_order_acquire)) {
      platform::yield_thread();
    }
  }
  ~Lock() { flag_.store(false, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace memprof::v8
