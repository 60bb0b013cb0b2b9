// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/sender.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/ship/looks/labels.h"
#include "profile/model/error.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// The state's file has the target's name in its own.
std::string state_path(const Spool& spool, const std::string& target) {
  return spool.target_path(label_hash({{"target", target}}));
}

}  // namespace

Sender::Sender(std::unique_ptr<ShipTarget> target, Spool& spool, uint64_t newest, int64_t max_age_ms,
               std::function<void(uint64_t)> done, std::function<void(const std::string&)> say)
    : target_(std::move(target)),
      spool_(spool),
      max_age_ms_(max_age_ms),
      done_(std::move(done)),
      say_(std::move(say)),
      state_(state_path(spool, target_->name()), target_->name(), newest),
      backoff_(std::random_device()()) {}

Sender::~Sender() {
  finish(0);
}

bool Sender::add(const QueuedLook& look) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (look.sequence <= state_.done()) return false;
    Waiting waiting;
    static_cast<QueuedLook&>(waiting) = look;
    waiting.since = Clock::now();
    // A clock that was set back says that it is from the future.
    waiting.age_ms = std::max<int64_t>(0, now_ms() - look.time_ms);
    queue_.push_back(waiting);
  }
  changed_.notify_all();
  return true;
}

bool Sender::start() {
  return thread_.start([this] { run(); });
}

void Sender::begin_end(double seconds) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ending_ = true;
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    target_->give_up_at(end_);
  }
  changed_.notify_all();
}

void Sender::finish(double seconds) {
  begin_end(seconds);
  thread_.join();
}

void Sender::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  auto next = Clock::now();
  while (true) {
    if (is_ending_ && (queue_.empty() || Clock::now() >= end_)) return;
    const bool was_ending = is_ending_;
    const auto is_due = [&] {
      if (is_ending_ != was_ending) return true;
      return !queue_.empty() && Clock::now() >= next;
    };
    if (queue_.empty()) {
      changed_.wait(lock, [&] { return !queue_.empty() || is_ending_; });
    } else {
      changed_.wait_until(lock, is_ending_ ? std::min(next, end_) : next, is_due);
    }
    if (queue_.empty() || (is_ending_ && Clock::now() >= end_)) continue;
    if (is_ending_ && !was_ending) next = Clock::now();  // once more before the end
    if (Clock::now() < next) continue;
    const double wait = send_next(lock);
    next = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait));
  }
}

bool Sender::is_too_old(const Waiting& look) const {
  const auto here = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - look.since).count();
  return look.age_ms + here > max_age_ms_;
}

void Sender::drop_first(std::unique_lock<std::mutex>& lock) {
  const uint64_t sequence = queue_.front().sequence;
  state_.finish(sequence);
  queue_.pop_front();
  lock.unlock();
  done_(sequence);
  lock.lock();
}

void Sender::say(const std::string& line) const {
  if (say_) {
    say_(line);
  } else {
    complain("ship: " + line);
  }
}

void Sender::say_problem(const std::string& problem) {
  if (problem == problem_) return;
  if (!problem.empty()) {
    say(problem + "; it is tried again, " + std::to_string(queue_.size()) +
        (queue_.size() == 1 ? " look waits" : " looks wait"));
  } else {
    say(target_->name() + " takes looks again");
  }
  problem_ = problem;
}

double Sender::send_next(std::unique_lock<std::mutex>& lock) {
  const Waiting first = queue_.front();
  if (is_too_old(first)) {
    ++state_.counts.expired;
    state_.counts.expired_bytes += first.allocated_bytes;
    drop_first(lock);
    return 0;
  }
  Look look;
  try {
    look = spool_.read(first.sequence);
  } catch (const profile::Error& error) {
    say(std::string(error.what()) + "; it is left out");
    ++state_.counts.damaged;
    state_.counts.damaged_bytes += first.allocated_bytes;
    drop_first(lock);
    return 0;
  }
  const bool was_there = state_.may_be_there(first.sequence);
  if (was_there) ++state_.counts.repeats;
  state_.begin(first.sequence);
  const bool is_last = is_ending_;
  lock.unlock();
  const Sent sent = target_->send(look, is_last);
  lock.lock();
  if (sent.end == Sent::End::kLater) {
    ++state_.counts.retries;
    // That this attempt did not arrive says nothing of those before.
    if (!sent.may_be_there && !was_there) state_.take_back();
    say_problem(sent.why);
    return backoff_.next(sent.wait_seconds);
  }
  if (sent.end == Sent::End::kRefused) {
    ++state_.counts.refused;
    state_.counts.refused_bytes += look.allocated.bytes;
    say("dropped a look: " + sent.why);
  } else if (sent.end == Sent::End::kPartly) {
    ++state_.counts.partly;
    state_.counts.partly_bytes += look.allocated.bytes;
    say("lost a part of a look: " + sent.why);
  } else {
    ++state_.counts.accepted;
    state_.counts.accepted_bytes += look.allocated.bytes;
    if (!problem_.empty()) say_problem("");
    if (!sent.why.empty() && sent.why != warning_) say(sent.why);
    warning_ = sent.why;
  }
  state_.counts.rejected_profiles += sent.rejected_profiles;
  backoff_.succeeded();
  drop_first(lock);
  return 0;
}

size_t Sender::waiting() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return queue_.size();
}

ShipCounts Sender::counts() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_.counts;
}

uint64_t Sender::sequence_done() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_.done();
}

std::string Sender::problem() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

}  // namespace memprof::cli
