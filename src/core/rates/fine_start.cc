// SPDX-License-Identifier: Apache-2.0
#include "core/rates/fine_start.h"

#include "core/rates/rates.h"
#include "core/sampling/fine_law.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/process.h"

namespace memprof::fine_start {

std::atomic<int64_t> g_left{0};
std::atomic<uint64_t> g_weight_bytes{0};

namespace {

// Relaxed: a sample more or less at the old rate does no harm.
std::atomic<bool> g_is_wanted{false};

// Of the thread that sets the rate.
struct Control {
  FineLaw law;
  uint64_t spent_ns;    // LaterStatistics::sampling_ns at the last look
  uint64_t allowed_ns;  // of it, in the end
};
Control g_control;

// One event in so many is measured: of few events the law is to know more than a budget's need.
constexpr uint64_t kMeasured = 2;

uint64_t spent_of(const ArenaHeader& header) {
  return header.later_statistics.sampling_ns.load(std::memory_order_relaxed);
}

void end() {
  g_left.store(0, std::memory_order_release);
  sampler_measure_one_in(0);
}

void end_with_last_rate(ArenaHeader* header, uint64_t now_ns) {
  end();
  rates::follow(header, FineLaw::kLastRateBytes, now_ns);
}

// The least that is worth a beginning.
constexpr uint64_t kMinCostNs = 1000000;

uint64_t allowed_ns(uint64_t spent_ns) {
  const uint64_t of_cpu =
      spent_ns == 0 || platform::is_sandboxed() ? 0 : platform::process_cpu_ns() / FineLaw::kCpuOverCost;
  return of_cpu > FineLaw::kMaxCostNs ? of_cpu : FineLaw::kMaxCostNs;
}

}  // namespace

void configure(bool is_wanted, bool has_late_tables) {
  want(is_wanted);
  g_left.store(0, std::memory_order_relaxed);
  if (is_wanted && !has_late_tables) {
    rates::set(nullptr, FineLaw::kFirstRateBytes);
  }
}

void want(bool is_wanted) {
  g_is_wanted.store(is_wanted, std::memory_order_relaxed);
  if (!is_wanted && g_left.load(std::memory_order_relaxed) > 0) {
    end();
  }
}

bool is_wanted() {
  return g_is_wanted.load(std::memory_order_relaxed);
}

uint64_t lasting_rate() {
  return is_wanted() ? FineLaw::kLastRateBytes : sampler_rate();
}

void begin(ArenaHeader* header, uint64_t now_ns) {
  if (!is_wanted()) {
    return;
  }
  const uint64_t spent = spent_of(*header);
  const uint64_t allowed = allowed_ns(spent);
  if (spent + kMinCostNs > allowed) {
    return end_with_last_rate(header, now_ns);
  }
  g_left.store(0, std::memory_order_relaxed);
  g_control = {FineLaw(), spent, allowed};
  g_weight_bytes.store(0, std::memory_order_relaxed);
  rates::follow(header, FineLaw::kFirstRateBytes, now_ns);
  sampler_measure_one_in(kMeasured);
  g_left.store(FineLaw::kSamplesOfALook, std::memory_order_release);
}

void look(ArenaHeader* header, uint64_t now_ns) {
  if (!is_wanted()) {
    return;  // the user has set a rate meanwhile
  }
  const uint64_t bytes = g_weight_bytes.load(std::memory_order_relaxed);
  const uint64_t spent = spent_of(*header);
  if (spent >= g_control.allowed_ns || FineLaw::rate_after(bytes) >= FineLaw::kLastRateBytes) {
    return end_with_last_rate(header, now_ns);
  }
  rates::follow(
      header, g_control.law.next(sampler_rate(), bytes, FineLaw::kSamplesOfALook, spent - g_control.spent_ns),
      now_ns);
  g_control.spent_ns = spent;
  g_left.store(FineLaw::kSamplesOfALook, std::memory_order_release);
}

}  // namespace memprof::fine_start
