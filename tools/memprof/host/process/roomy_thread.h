// SPDX-License-Identifier: Apache-2.0
// A thread whose stack does not depend on the limit of stacks (ulimit -s): a library that reads debug
// information takes what it wants of the stack.
//
// Threads: start() and join() by one.  All signals are blocked in the thread, but in run_with_room().
// Failure: start() says that the system gives no thread (ulimit -u, ulimit -v).
#pragma once

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <functional>

namespace memprof::cli {

class RoomyThread {
 public:
  RoomyThread() = default;
  ~RoomyThread() { join(); }
  RoomyThread(const RoomyThread&) = delete;
  RoomyThread& operator=(const RoomyThread&) = delete;

  // `work` must not throw.  false: it will not be done.
  bool start(std::function<void()> work);
  void join();

 private:
  friend int run_with_room(const std::function<int()>& work);

  bool start(std::function<void()> work, const sigset_t& signals_blocked);

  std::function<void()> work_;
  sigset_t signals_blocked_{};
  pthread_t thread_{};
  bool is_running_ = false;
};

// What this thread has used of the processor.  On a busy machine work takes long, and is no more of a burden for that.
std::chrono::nanoseconds processor_time_of_thread();

// Does it, in a thread of its own where this one's stack is limited to little.  `work` must not throw.
int run_with_room(const std::function<int()>& work);

}  // namespace memprof::cli
