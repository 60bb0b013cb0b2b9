// SPDX-License-Identifier: Apache-2.0
// Sends what is in the spool to one target, in order, until it has it: tries again what may succeed, and drops and counts
// what never will.
//
// Threads: one of its own from start() to finish(); the others call from one thread.
// Failure: none after start(); what goes wrong is said once, and again when it changes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "memprof/host/process/roomy_thread.h"
#include "memprof/ship/spool/spool.h"
#include "memprof/ship/spool/target_state.h"
#include "memprof/ship/targets/backoff.h"
#include "memprof/ship/targets/target.h"

namespace memprof::cli {

class Sender {
 public:
  // `newest`: the sequence before the first look that a target which is new gets.
  // `done`: called by the sender's thread when the target needs a look no more.  `say`: takes its lines, without it they
  // go to standard error.
  Sender(std::unique_ptr<ShipTarget> target, Spool& spool, uint64_t newest, int64_t max_age_ms,
         std::function<void(uint64_t)> done, std::function<void(const std::string&)> say = {});
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  // false: the target has it, or needs it no more.
  bool add(const QueuedLook& look);

  bool start();
  // Says that the end is near, and does not wait: several senders end together.
  void begin_end(double seconds);
  // Sends what it can until the time is over, without waiting for a target that does not answer.
  void finish(double seconds);

  std::string name() const { return target_->name(); }
  size_t waiting();
  ShipCounts counts();
  uint64_t sequence_done();
  std::string problem();  // "": the last look was taken

 private:
  struct Waiting : QueuedLook {
    std::chrono::steady_clock::time_point since;
    int64_t age_ms = 0;  // at `since`
  };

  void run();
  // Returns how long to wait before the next one.
  double send_next(std::unique_lock<std::mutex>& lock);
  bool is_too_old(const Waiting& look) const;
  void drop_first(std::unique_lock<std::mutex>& lock);
  void say(const std::string& line) const;
  // Once.
  void say_problem(const std::string& problem);

  const std::unique_ptr<ShipTarget> target_;
  Spool& spool_;
  const int64_t max_age_ms_;
  const std::function<void(uint64_t)> done_;
  const std::function<void(const std::string&)> say_;
  std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  TargetState state_;
  std::deque<Waiting> queue_;
  Backoff backoff_;
  std::string problem_;
  std::string warning_;  // with the last look that was taken
  bool is_ending_ = false;
  std::chrono::steady_clock::time_point end_;
  RoomyThread thread_;
};

}  // namespace memprof::cli
