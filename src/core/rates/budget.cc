// SPDX-License-Identifier: Apache-2.0
#include "core/rates/budget.h"

#include "core/rates/fine_start.h"
#include "core/rates/rates.h"
#include "core/sampling/sampler.h"
#include "format/hash.h"
#include "platform/clock.h"

namespace memprof::budget {

std::atomic<uint64_t> g_due_ns{UINT64_MAX};

namespace {

// Relaxed: settled before any event that is measured.
std::atomic<bool> g_is_on{false};
Budget g_budget;
uint64_t g_clock_ns = 0;   // what a look at the clock takes
uint64_t g_urgent_ns = 0;  // spent since the rate was set: so much does not wait for the period's end
std::atomic<ArenaHeader*> g_header{nullptr};  // release in attach(), acquire

// When the thread that sets the rate began; 0: none does.  One that never came back (siglongjmp out of a
// handler) has had its time.
std::atomic<uint64_t> g_held_since_ns{0};
// Of that thread.
struct Control {
  RateLaw law;
  uint64_t time_ns;
  uint64_t cpu_ns;
};
Control g_control;
std::atomic<uint64_t> g_spent_ns{0};  // LaterStatistics::sampling_ns when the rate was set; relaxed

std::atomic<uint64_t> g_events{0};  // since then, as far as they were measured; relaxed

uint64_t clock_cost() {
  uint64_t min = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const uint64_t before = platform::monotonic_ns();
    const uint64_t spent = platform::monotonic_ns() - before;
    min = spent < min ? spent : min;
  }
  return min;
}

uint64_t since(uint64_t now, uint64_t before) {
  return now > before ? now - before : 0;
}

// `cpu_ns`: 0 in a sandbox.
void set_rate(ArenaHeader* h, uint64_t now_ns, uint64_t cpu_ns) {
  const uint64_t spent = h->later_statistics.sampling_ns.load(std::memory_order_relaxed);
  const uint64_t spent_before = g_spent_ns.exchange(spent, std::memory_order_relaxed);
  const uint64_t cpu = cpu_ns != 0 ? since(cpu_ns, g_control.cpu_ns) : since(now_ns, g_control.time_ns);
  if (g_events.exchange(0, std::memory_order_relaxed) <= kFewEvents) {
    sampler_measure_one_in(1);
  }
  g_control.time_ns = now_ns;
  g_control.cpu_ns = cpu_ns != 0 ? cpu_ns : g_control.cpu_ns;
  count(h->later_statistics.cpu_ns, cpu);
  rates::follow(h, g_control.law.next(sampler_rate(), since(spent, spent_before), cpu), now_ns);
}

}  // namespace

void configure(const Budget& budget, bool has_late_tables) {
  g_budget = budget;
  const bool is_on = budget.share_ppm != 0;
  g_is_on.store(is_on, std::memory_order_relaxed);
  sampler_watch(is_on ? kPartBytes : 0);
  g_due_ns.store(UINT64_MAX, std::memory_order_relaxed);
  sampler_measure_one_in(0);
  fine_start::configure(!is_on && budget.starts_fine, has_late_tables);
  if (is_on || budget.starts_fine) {
    g_clock_ns = clock_cost();
  }
  if (is_on) {
    // As much as four periods of one processor may cost.
    g_urgent_ns = 4 * (kPeriodNs / 1000000) * budget.share_ppm;
    rates::set(nullptr, RateLaw(budget).first(sampler_rate()));
  }
}

void begin_fine(ArenaHeader* header) {
  g_events.store(0, std::memory_order_relaxed);
  g_header.store(header, std::memory_order_release);
  fine_start::begin(header, platform::monotonic_ns());
}

bool is_on() {
  return g_is_on.load(std::memory_order_relaxed);
}

void attach(const Arena& arena) {
  ArenaHeader& h = arena.header();
  if (!is_on()) {
    begin_fine(&h);
    return;
  }
  h.later_statistics.budget_ppm.store(g_budget.share_ppm, std::memory_order_relaxed);
  const uint64_t now = platform::monotonic_ns();
  g_control = {RateLaw(g_budget), now, platform::process_cpu_ns()};
  g_spent_ns.store(0, std::memory_order_relaxed);
  g_events.store(0, std::memory_order_relaxed);
  sampler_measure_one_in(1);
  g_held_since_ns.store(0, std::memory_order_relaxed);
  g_header.store(&h, std::memory_order_release);
  g_due_ns.store(now + kPeriodNs, std::memory_order_relaxed);
}

void control(uint64_t now_ns) {
  constexpr uint64_t kLongestNs = 1000000000;
  ArenaHeader* const h = g_header.load(std::memory_order_acquire);
  uint64_t held = g_held_since_ns.load(std::memory_order_relaxed);
  if ((held != 0 && since(now_ns, held) < kLongestNs) ||
      !g_held_since_ns.compare_exchange_strong(held, now_ns, std::memory_order_acquire,
                                               std::memory_order_relaxed)) {
    return;
  }
  if (since(now_ns, g_control.time_ns) >= kMinPeriodNs) {
    g_due_ns.store(now_ns + kPeriodNs, std::memory_order_relaxed);
    set_rate(h, now_ns, platform::process_cpu_ns());
  }
  uint64_t mine = now_ns;
  g_held_since_ns.compare_exchange_strong(mine, 0, std::memory_order_release, std::memory_order_relaxed);
}

bool is_measured_free(uint64_t address) {
  const uint64_t one_in = sampler_measures_one_in();
  return __builtin_expect(one_in != 0, 0) && mix_hash(address ^ t_sampler.random[0]) % one_in == 0;
}

void Meter::add() {
  const uint64_t spent = since(platform::monotonic_ns(), since_ns_);
  spent_ns_ += since(spent, g_clock_ns);
}

void Meter::begin() {
  since_ns_ = platform::monotonic_ns();
}

void Meter::count() const {
  ArenaHeader* const h = g_header.load(std::memory_order_acquire);
  if (h == nullptr) {
    return;
  }
  if (g_events.fetch_add(stands_for_, std::memory_order_relaxed) + stands_for_ > kFewEvents &&
      stands_for_ == 1 && budget::is_on()) {
    sampler_measure_one_in(kMeasuredEvents);
  }
  const uint64_t more = stands_for_ * (spent_ns_ < kMaxEventNs ? spent_ns_ : kMaxEventNs);
  const uint64_t spent = h->later_statistics.sampling_ns.fetch_add(more, std::memory_order_relaxed) + more;
  if (budget::is_on() &&  // not the meter
      since(spent, g_spent_ns.load(std::memory_order_relaxed)) > g_urgent_ns) {
    control(platform::monotonic_ns());
  }
}

}  // namespace memprof::budget
