// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/roomy_thread.h"

#include <sys/resource.h>

#include <cstddef>
#include <ctime>
#include <utility>

namespace memprof::cli {
namespace {

// What is usual; and what does, where the address space is limited (ulimit -v).
constexpr size_t kSizes[] = {8u << 20, 2u << 20, 512u << 10};
constexpr rlim_t kEnough = 2u << 20;

}  // namespace

bool RoomyThread::start(std::function<void()> work) {
  sigset_t all;
  sigfillset(&all);
  return start(std::move(work), all);
}

bool RoomyThread::start(std::function<void()> work, const sigset_t& signals_blocked) {
  work_ = std::move(work);
  signals_blocked_ = signals_blocked;
  const auto run = [](void* self) -> void* {
    const auto* thread = static_cast<RoomyThread*>(self);
    pthread_sigmask(SIG_SETMASK, &thread->signals_blocked_, nullptr);
    thread->work_();
    return nullptr;
  };
  // It begins with all of them blocked.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  for (const size_t size : kSizes) {
    if (is_running_) break;
    is_running_ = pthread_attr_setstacksize(&attributes, size) == 0 &&
                  pthread_create(&thread_, &attributes, run, this) == 0;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_running_;
}

void RoomyThread::join() {
  if (is_running_) pthread_join(thread_, nullptr);
  is_running_ = false;
}

int run_with_room(const std::function<int()>& work) {
  rlimit stack{};
  if (getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kEnough) return work();
  // Signals are the other thread's, which is as the only one.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int result = 0;
  RoomyThread thread;
  const bool is_started = thread.start([&] { result = work(); }, before);
  thread.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return is_started ? result : work();
}

std::chrono::nanoseconds processor_time_of_thread() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace memprof::cli
