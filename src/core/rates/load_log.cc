// SPDX-License-Identifier: Apache-2.0
#include "core/rates/load_log.h"

namespace memprof::load_log {
namespace {

// LoadState::state: whether somebody writes marks, how many there are, how often the step was doubled.
constexpr uint64_t kBusy = 1;
constexpr int kCountShift = 1;
constexpr uint64_t kCountMask = 0xff;
constexpr int kDoublingsShift = 16;
constexpr uint64_t kMaxDoublings = 48;

struct Marks {
  uint32_t count;
  uint64_t doublings;

  uint64_t word() const { return uint64_t{count} << kCountShift | doublings << kDoublingsShift; }
  uint64_t step_bytes() const { return kFirstStepBytes << doublings; }
  bool are_possible() const { return count <= kLoadMarks && doublings <= kMaxDoublings; }
};

Marks marks_of(uint64_t state) {
  return {static_cast<uint32_t>(state >> kCountShift & kCountMask), state >> kDoublingsShift};
}

// Mark i stands for i + 1 steps, so of twice the step the odd ones stay.
void double_step(LoadState* log, Marks* marks) {
  for (uint32_t i = 0; i < kLoadMarks / 2; ++i) {
    log->at_ns[i].store(log->at_ns[2 * i + 1].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  marks->count = marks->count / 2;
  ++marks->doublings;
}

void write_up_to(LoadState* log, uint64_t bytes, uint64_t after_ns, Marks* marks) {
  while ((marks->count + 1) * marks->step_bytes() <= bytes) {
    if (marks->count == kLoadMarks) {
      if (marks->doublings == kMaxDoublings) return;
      double_step(log, marks);
      continue;
    }
    log->at_ns[marks->count++].store(static_cast<float>(after_ns), std::memory_order_relaxed);
  }
}

}  // namespace

[[gnu::noinline, gnu::cold]] void mark(LoadState* log, uint64_t after_ns) {
  for (;;) {
    uint64_t state = log->state.load(std::memory_order_relaxed);
    // acquire pairs with the release below: the marks of whoever wrote before are there.
    if ((state & kBusy) != 0 ||
        !log->state.compare_exchange_strong(state, state | kBusy, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      return;  // who writes looks again when it is done
    }
    Marks marks = marks_of(state);
    if (!marks.are_possible()) {  // somebody wrote over them
      log->due_bytes.store(UINT64_MAX, std::memory_order_relaxed);
      return;
    }
    write_up_to(log, log->bytes.load(std::memory_order_relaxed), after_ns, &marks);
    const uint64_t due = (marks.count + 1) * marks.step_bytes();
    log->due_bytes.store(marks.count == kLoadMarks && marks.doublings == kMaxDoublings ? UINT64_MAX : due,
                         std::memory_order_relaxed);
    log->state.store(marks.word(), std::memory_order_release);
    if (log->bytes.load(std::memory_order_relaxed) < due) return;
  }
}

LoadMarks read(const LoadState& log) {
  constexpr int kTries = 100;
  LoadMarks read;
  for (int i = 0; i < kTries; ++i) {
    // acquire pairs with the release in mark().
    const uint64_t state = log.state.load(std::memory_order_acquire);
    const Marks marks = marks_of(state & ~kBusy);
    if (!marks.are_possible()) return {};
    read = {};
    read.count = marks.count;
    read.step_bytes = marks.count == 0 ? 0 : marks.step_bytes();
    for (uint32_t k = 0; k < marks.count; ++k) {
      const float at_ns = log.at_ns[k].load(std::memory_order_acquire);
      // Somebody else's memory: time goes on, or it is no time.
      const float before_ns = k == 0 ? 0 : read.at_ns[k - 1];
      read.at_ns[k] = at_ns > before_ns && at_ns < 1e19F ? at_ns : before_ns;
    }
    read.bytes = log.bytes.load(std::memory_order_relaxed);
    // A process that was killed while it wrote leaves it busy for ever: then marks may be in two places, which is an error
    // of a step.
    if ((state & kBusy) == 0 && log.state.load(std::memory_order_relaxed) == state) break;
  }
  return read;
}

}  // namespace memprof::load_log
