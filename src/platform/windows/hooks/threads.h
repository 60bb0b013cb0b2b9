// SPDX-License-Identifier: Apache-2.0
// All other threads of the process stand still while one of these lives.
//
// Meanwhile nothing may be called that takes a lock of the process: a thread that stands still may hold it.
#pragma once

#include <cstdint>

#include "platform/windows/system.h"

namespace memprof::platform {

class ThreadsSuspended {
 public:
  ThreadsSuspended();
  ~ThreadsSuspended();
  ThreadsSuspended(const ThreadsSuspended&) = delete;
  ThreadsSuspended& operator=(const ThreadsSuspended&) = delete;

  // false: there are more than are kept, or one could not be suspended.
  bool is_complete() const { return is_complete_; }
  // Is a thread behind the first byte of [start, start + size_bytes)?  true also where that cannot be told.
  bool is_any_inside(uint64_t start, uint64_t size_bytes) const;

 private:
  static constexpr uint32_t kMaxThreads = 4096;
  void suspend_new(bool* found);

  HANDLE* handles_;
  uint32_t* ids_;
  uint32_t count_ = 0;
  bool is_complete_ = true;
};

}  // namespace memprof::platform
