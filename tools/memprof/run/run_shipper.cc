// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_shipper.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "memprof/console/console.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kFindEvery = std::chrono::seconds(1);  // new processes
constexpr double kEndSeconds = 5;
constexpr uint64_t kSpoolBytes = uint64_t{256} << 20;
constexpr int64_t kSpoolAgeMs = int64_t{50} * 60 * 1000;  // Pyroscope takes what is younger than an hour

std::string bytes_text(int64_t bytes) {
  return profile::format_bytes(static_cast<double>(bytes));
}

LeftBehind left_by(const ProcessProfile& process, bool holds) {
  LeftBehind left;
  left.arena = process.arena.empty() ? process.path : process.arena;
  left.pid = process.pid;
  left.program = process.program;
  left.path = process.path;
  left.holds = holds;
  return left;
}

// What became of the looks at one target, in a line.
void say_target(const TargetFigures& target, int64_t waiting_bytes) {
  const ShipCounts& counts = target.counts;
  const uint64_t lost = counts.refused + counts.expired + counts.damaged + counts.partly + target.waiting;
  const uint64_t all = counts.accepted + lost;
  if (all == 0) return;
  const auto looks = [](uint64_t count) {
    return fmt::format("{} {}", count, count == 1 ? "look" : "looks");
  };
  if (lost == 0) {
    complain(fmt::format("shipped {} ({} allocated) to {}", looks(counts.accepted),
                         bytes_text(counts.accepted_bytes), target.name));
    return;
  }
  const int64_t lost_bytes = counts.refused_bytes + counts.expired_bytes + counts.damaged_bytes +
                             counts.partly_bytes + waiting_bytes;
  complain(fmt::format("warning: --ship: {} of {} ({} allocated) did not arrive{}", lost, looks(all),
                       bytes_text(lost_bytes),
                       target.problem.empty() ? " at " + target.name : ": " + target.problem));
}

}  // namespace

RunShipper::RunShipper(const ShipChoice& choice, const std::string& arenas, uint64_t run_token)
    : every_s_(choice.every_s),
      processes_(ShippedProcesses::of_run(choice.labels, {arenas, run_token})),
      spool_(folder_.path(), kSpoolBytes),
      senders_(choice.targets, choice.network, kSpoolAgeMs, spool_, [](const std::string& /*line*/) {}),
      shipper_(
          processes_, spool_, [this](const QueuedLook& look) { senders_.add(look); },
          [this](const std::string& line) { problem_ = line; }) {}

RunShipper::~RunShipper() {
  stop();
}

void RunShipper::guarded(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::exception& error) {
    if (error_.empty()) error_ = error.what();
  }
}

void RunShipper::start() {
  guarded([this] { senders_.start(); });
  if (error_.empty() && !thread_.start([this] { guarded([this] { run(); }); })) {
    error_ = "the system gives no thread for it (ulimit -u, ulimit -v)";
  }
}

void RunShipper::run() {
  const auto every = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(every_s_));
  auto next = Clock::now() + every;
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      const auto until = std::min<Clock::time_point>(next, Clock::now() + kFindEvery);
      if (changed_.wait_until(lock, until, [this] { return is_stopping_; })) return;
    }
    processes_.find();
    const std::vector<Pressure> pressures = pressure_.check(processes_.pids());
    const bool is_time = Clock::now() >= next;
    if (is_time || !pressures.empty()) shipper_.look(pressures);
    static_cast<void>(shipper_.take_notes());  // the run says itself who was killed
    if (!is_time) continue;
    next = std::max(next + every, Clock::now());
  }
}

void RunShipper::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RunShipper::take_last(const std::vector<ProcessProfile>& last, const std::vector<ProcessProfile>& former,
                           uint64_t pid) {
  stop();
  guarded([&] {
    for (const ProcessProfile& process : former) processes_.leave(left_by(process, false));
    for (const ProcessProfile& process : last) {
      processes_.leave(left_by(process, process.pid == pid || process.still_runs));
    }
    shipper_.look();
  });
}

void RunShipper::finish() {
  guarded([this] { senders_.finish(kEndSeconds); });
  const int64_t committed = shipper_.allocated_bytes();
  for (const TargetFigures& target : senders_.figures()) {
    const ShipCounts& counts = target.counts;
    say_target(target, committed - counts.accepted_bytes - counts.refused_bytes - counts.expired_bytes -
                           counts.damaged_bytes - counts.partly_bytes);
  }
  if (!error_.empty()) {
    complain("warning: --ship: ended early: " + error_);
  } else if (!problem_.empty() && shipper_.counts().delayed != 0) {
    complain("warning: --ship: " + problem_);
  }
}

}  // namespace memprof::cli
