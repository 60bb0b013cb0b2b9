// SPDX-License-Identifier: Apache-2.0
#include "core/rates/fine_start.h"

#include "core/rates/rates.h"
#include "core/sampling/fine_schedule.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/process.h"

namespace memprof::fine_start {

std::atomic<int64_t> g_left{0};
std::atomic<uint64_t> g_cost_limit_ns{UINT64_MAX};

namespace {

namespace schedule = fine_schedule;

// Relaxed: written before any sample, or by who asks for it; a sample more or less at the old rate is none the worse.
std::atomic<bool> g_is_wanted{false};
std::atomic<uint64_t> g_rate_bytes{0};  // of the schedule, now; 0: it does not run
std::atomic<uint64_t> g_allowed_ns{0};  // LaterStatistics::sampling_ns in the end

constexpr uint64_t kLastRate = kDefaultRateBytes;

void end() {
  g_left.store(0, std::memory_order_relaxed);
  g_rate_bytes.store(0, std::memory_order_relaxed);
  sampler_measure_one_in(0);
}

uint64_t spent_of(const ArenaHeader& header) {
  return header.later_statistics.sampling_ns.load(std::memory_order_relaxed);
}

// The counters of a rate that was just chosen.
void begin_rate(const ArenaHeader& header, uint64_t rate_bytes) {
  const uint64_t spent = spent_of(header);
  const uint64_t allowed = g_allowed_ns.load(std::memory_order_relaxed);
  const uint64_t left = allowed > spent ? allowed - spent : 0;
  g_cost_limit_ns.store(spent + schedule::cost_at(rate_bytes, kLastRate, left), std::memory_order_relaxed);
  g_rate_bytes.store(rate_bytes, std::memory_order_relaxed);
  g_left.store(schedule::samples_at(rate_bytes), std::memory_order_relaxed);
}

}  // namespace

void configure(bool is_wanted, bool is_late) {
  end();
  g_is_wanted.store(is_wanted, std::memory_order_relaxed);
  if (is_wanted && !is_late) {
    rates::set(nullptr, schedule::kFirstRateBytes);
  }
}

void want(bool is_wanted) {
  g_is_wanted.store(is_wanted, std::memory_order_relaxed);
  if (!is_wanted && is_running()) {
    end();
  }
}

bool is_wanted() {
  return g_is_wanted.load(std::memory_order_relaxed);
}

uint64_t lasting_rate() {
  return is_wanted() ? kLastRate : sampler_rate();
}

void begin(ArenaHeader* header, uint64_t now_ns) {
  if (!is_wanted()) {
    return;
  }
  uint64_t allowed = schedule::kMaxCostNs;
  if (spent_of(*header) != 0 && !platform::is_sandboxed()) {
    const uint64_t of_cpu = platform::process_cpu_ns() / schedule::kCpuOverCost;
    allowed = of_cpu > allowed ? of_cpu : allowed;
  }
  if (spent_of(*header) + schedule::kMinCostNs > allowed) {
    end();
    rates::follow(header, kLastRate, now_ns);
    return;
  }
  g_allowed_ns.store(allowed, std::memory_order_relaxed);
  rates::follow(header, schedule::kFirstRateBytes, now_ns);
  begin_rate(*header, schedule::kFirstRateBytes);
  sampler_measure_one_in(1);
}

void step(ArenaHeader* header, uint64_t now_ns) {
  const uint64_t rate = g_rate_bytes.load(std::memory_order_relaxed);
  if (rate == 0) {
    return;  // the user has set another one
  }
  const uint64_t next = schedule::next_rate(rate, kLastRate);
  rates::follow(header, next, now_ns);
  if (next == kLastRate) {
    end();
  } else {
    begin_rate(*header, next);
  }
}

}  // namespace memprof::fine_start
