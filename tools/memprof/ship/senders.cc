// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/senders.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Senders::Senders(const std::vector<std::string>& targets, TargetOptions network, int64_t max_age_ms,
                 Spool& spool, const std::function<void(const std::string&)>& say)
    : spool_(spool) {
  network.spool_id = spool.id();
  const auto& waiting = spool.waiting();
  // A target that is new gets what waits: nobody knows for whom else.
  const uint64_t newest = waiting.empty() ? spool.newest() : waiting.front().sequence - 1;
  for (const std::string& target : targets) {
    auto made = make_target(target, network);
    for (const auto& other : all_) {
      if (other->name() == made->name()) throw Failure(network.option + ": " + target + " is given twice");
    }
    all_.push_back(std::make_unique<Sender>(
        std::move(made), spool, newest, max_age_ms, [this](uint64_t sequence) { done(sequence); }, say));
  }
  for (const QueuedLook& look : waiting) add(look);
}

void Senders::start() {
  for (auto& sender : all_) {
    if (!sender->start()) throw Failure("ship: the system gives no thread (ulimit -u, ulimit -v)", 1);
  }
}

void Senders::add(const QueuedLook& look) {
  bool is_wanted = false;
  for (auto& sender : all_) is_wanted |= sender->add(look);
  if (!is_wanted) spool_.remove(look.sequence);
}

size_t Senders::finish(double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  size_t waiting = 0;
  for (auto& sender : all_) sender->begin_end(seconds);
  for (auto& sender : all_) {
    sender->finish(std::chrono::duration<double>(end - Clock::now()).count());
    waiting += sender->waiting();
  }
  return waiting;
}

std::vector<TargetFigures> Senders::figures() {
  std::vector<TargetFigures> figures;
  for (auto& sender : all_) {
    figures.push_back({sender->name(), sender->counts(), sender->waiting(), sender->problem()});
  }
  return figures;
}

void Senders::done(uint64_t sequence) {
  const bool is_with_all = std::all_of(
      all_.begin(), all_.end(), [&](const auto& sender) { return sender->sequence_done() >= sequence; });
  if (is_with_all) spool_.remove(sequence);
}

}  // namespace memprof::cli
