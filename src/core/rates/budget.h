// SPDX-License-Identifier: Apache-2.0
// A budget: the rate follows what sampling costs, so that it takes a given share of the process's CPU time.  And
// what events cost while a rate starts fine (core/rates/fine_start.h), which is measured in the same way.
//
// Model: one event in kMeasuredEvents, chosen at random (core/sampling/sampler.h), is measured by the clock,
// without the real call inside it, and so is one free of a sample; each stands for as many.  Of a period's first
// kFewEvents each is measured, if the period before had no more: of a handful, one in eight would be chance.  Ten times a second,
// or when much was spent, the thread whose event finds it so compares the sum with the process's CPU time and
// sets the rate (core/sampling/rate_law.h).  A process without events keeps its rate, and takes up a finer one
// at its next event: with a budget each thread has one every kPartBytes at the latest.
//   CPU time and not time: a program becomes so much slower, on however many processors, and one that sleeps
//   is not sampled more for it.  In a sandbox, where the system is not asked, time stands for it.
// An event of more than kMaxEventNs counts as that much: its thread waited for a processor, or it set up what
// no rate saves (tables, a new module).
//
// Threads: any; one at a time sets the rate, the others go on.
// Signals: may be interrupted by itself.  fork: attach() begins anew for a child's tables.
// Allocates, waits: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/sampling/rate_law.h"
#include "core/sampling/sampler.h"

namespace memprof::budget {

inline constexpr uint64_t kPartBytes = uint64_t{1} << 20;
inline constexpr uint64_t kPeriodNs = 100000000;
inline constexpr uint64_t kMinPeriodNs = 5000000;
inline constexpr uint64_t kMaxEventNs = 30000;
inline constexpr uint64_t kFewEvents = 64;

// Before there are tables.  Sets the rate that a program begins with, if there is a budget.
// `has_late_tables`: they come with the first sample.
void configure(const Budget& budget, bool has_late_tables = false);
bool is_on();

// New tables, which the calling thread alone knows.
void attach(const Arena& arena);
// The rate starts fine anew, if it is to.
void begin_fine(ArenaHeader* header);

// When the rate is to be looked at; UINT64_MAX: never.
extern std::atomic<uint64_t> g_due_ns;  // relaxed
void control(uint64_t now_ns);
inline void look(uint64_t now_ns) {
  if (__builtin_expect(now_ns >= g_due_ns.load(std::memory_order_relaxed), 0)) {
    control(now_ns);
  }
}

// Is this free of a sample to be measured?
bool is_measured_free(uint64_t address);

// The time of one event, without what is between pause() and resume().
class Meter {
 public:
  // 0: it is not measured.
  explicit Meter(uint64_t begun_ns)
      : since_ns_(begun_ns), stands_for_(begun_ns == 0 ? 0 : sampler_measures_one_in()) {}
  bool is_on() const { return since_ns_ != 0; }
  void pause() {
    if (__builtin_expect(since_ns_ != 0, 0)) {
      add();
    }
  }
  void resume() {
    if (__builtin_expect(since_ns_ != 0, 0)) {
      begin();
    }
  }
  void stop() {
    if (__builtin_expect(since_ns_ != 0, 0)) {
      add();
      count();
    }
  }

 private:
  void add();
  void begin();
  void count() const;

  uint64_t since_ns_;
  uint64_t stands_for_;  // events, itself among them
  uint64_t spent_ns_ = 0;
};

}  // namespace memprof::budget
