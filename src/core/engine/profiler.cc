// SPDX-License-Identifier: Apache-2.0
#include "core/engine/profiler.h"

#include "core/engine/ownership.h"
#include "core/rates/budget.h"
#include "core/rates/fine_start.h"
#include "core/rates/rates.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::profiler {

Status initialize(const Limits& limits, uint64_t rate_bytes, const Sharing& sharing, const Budget& budget) {
  if (!is_owner() && !has_state_to_follow()) {
    begin_anew();
  }
  for (;;) {
    uint32_t expected = raw(State::kUninitialized);
    if (g_state.compare_exchange_strong(expected, kInitializing, std::memory_order_acq_rel)) {
      break;
    }
    if (expected == raw(State::kTerminated)) {
      return Status::kWrongState;
    }
    if (expected != kInitializing) {
      return Status::kOk;
    }
    platform::yield_thread();  // another thread is at it
  }
  adopt_process();
  adopt_settings(limits, sharing);
  set_rate(rate_bytes);
  budget::configure(budget, sharing.defer_tables);
  if (!make_first_tables()) {
    g_state.store(raw(State::kUninitialized), std::memory_order_release);
    return Status::kNoMemory;
  }
  platform::advise_sparse(const_cast<void*>(g_sampled_filter.memory()), SampledFilter::memory_bytes());
  g_state.store(raw(State::kInitialized), std::memory_order_release);
  return Status::kOk;
}

Status start() {
  if (!become_owner()) {
    return Status::kForked;
  }
  if (!change_state(State::kInitialized, State::kActive) && !change_state(State::kStopped, State::kActive)) {
    return Status::kWrongState;
  }
  if (const Arena a = arena(); a && fine_start::is_wanted()) {
    budget::begin_fine(&a.header());
  }
  sampler_redraw();
  return Status::kOk;
}

Status stop() {
  if (!become_owner()) {
    return Status::kForked;
  }
  if (!change_state(State::kActive, State::kStopped)) {
    return Status::kWrongState;
  }
  return Status::kOk;
}

Status shutdown() {
  if (!become_owner()) {
    return Status::kForked;
  }
  if (state() == State::kTerminated) {
    return Status::kOk;
  }
  stop();
  if (!change_state(State::kStopped, State::kTerminated) &&
      !change_state(State::kInitialized, State::kTerminated)) {
    return state() == State::kTerminated ? Status::kOk : Status::kWrongState;
  }
  g_following.store(false, std::memory_order_release);
  return Status::kOk;
}

void set_rate(uint64_t rate_bytes) {
  fine_start::want(false);
  const Arena a = arena();
  rates::set(a ? &a.header() : nullptr, rate_bytes);
  sampler_redraw();
}

void set_fine_rate() {
  const Arena a = arena();
  if (!a || budget::is_on()) {
    return set_rate(kDefaultRateBytes);
  }
  a.header().rates.is_counted.store(1, std::memory_order_relaxed);
  fine_start::want(true);
  budget::begin_fine(&a.header());
  sampler_redraw();
}

State state() {
  const uint32_t value = g_state.load(std::memory_order_acquire);
  return value == kInitializing || is_off() ? State::kUninitialized : static_cast<State>(value);
}

Arena arena() {
  return is_following() || (state() == State::kTerminated && is_owner()) ? g_arena : Arena();
}

const char* arena_path() {
  return arena() ? own_arena_path() : "";
}

Counters counters() {
  if (Arena a = arena()) {
    Counters c = read_counters(a.header(), &g_stacks.entry(0), g_stacks.size());
    c.state = state();
    return c;
  }
  Counters c{};
  c.rate_bytes = sampler_rate();
  return c;
}

void reset_peak() {
  if (is_following()) {
    Statistics& s = g_arena.header().statistics;
    // A sample that comes between the two raises the peak again, or is in what is stored.
    s.peak_weight_bytes.store(0, std::memory_order_relaxed);
    raise(s.peak_weight_bytes, s.live_weight_bytes.load(std::memory_order_relaxed));
    g_peaks.reset(platform::monotonic_ns());
  }
}

uint32_t register_heap(const char* name, uint32_t size_bytes) {
  const uint32_t id = g_heap_names.find_or_add(name, size_bytes);
  if (id != HeapNames::kUnnamed && is_owner()) {
    g_heap_names.publish(id);
  }
  return id;
}

bool has_heap(uint32_t id) {
  return g_heap_names.has(id);
}

uint32_t intern_code(const CodeFacts& facts) {
  return is_following() ? g_codes.intern(facts) : CodeTable::kNone;
}

void code_was_unloaded() {
  if (is_following()) {
    g_modules.retire_unloaded();
    g_sweep.step();
  }
}

}  // namespace memprof::profiler
