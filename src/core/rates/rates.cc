// SPDX-License-Identifier: Apache-2.0
#include "core/rates/rates.h"

#include "core/sampling/sampler.h"
#include "platform/clock.h"

namespace memprof::rates {
namespace {

// Of a power of two and what follows it two places each: rates that differ by 2^16 share one, and count as the
// first of them.
RatePlace& use_of(RateLog* log, uint64_t rate_bytes) {
  const int power = rate_bytes < 2 ? 0 : 63 - __builtin_clzll(rate_bytes);
  const uint64_t half = rate_bytes < 2 ? rate_bytes : rate_bytes >> (power - 1) & 1;
  RatePlace& use = log->uses[(static_cast<uint64_t>(power) * 2 + half) % RateLog::kPlaces];
  uint64_t none = 0;
  if (use.rate_plus_one.load(std::memory_order_relaxed) == 0) {
    use.rate_plus_one.compare_exchange_strong(none, rate_bytes + 1, std::memory_order_relaxed);
  }
  return use;
}

void put_in_force(ArenaHeader* h, uint64_t rate_bytes, uint64_t now_ns) {
  const uint64_t before = h->rate_bytes.exchange(rate_bytes, std::memory_order_relaxed);
  sampler_set_rate(rate_bytes);
  if (before != rate_bytes) {
    h->rates.is_counted.store(1, std::memory_order_relaxed);
    const uint64_t since = h->rates.since_ns.exchange(now_ns, std::memory_order_relaxed);
    use_of(&h->rates, before)
        .time_ns.fetch_add(now_ns > since ? now_ns - since : 0, std::memory_order_relaxed);
    use_of(&h->rates, rate_bytes);
  }
}

}  // namespace

void begin_log(ArenaHeader* header, bool is_counted) {
  header->rate_bytes.store(sampler_rate(), std::memory_order_relaxed);
  header->rates.since_ns.store(header->start_ns, std::memory_order_relaxed);
  header->rates.is_counted.store(is_counted ? 1 : 0, std::memory_order_relaxed);
  header->rates.first_rate_bytes.store(sampler_rate(), std::memory_order_relaxed);
  use_of(&header->rates, sampler_rate());
}

void set(ArenaHeader* header, uint64_t rate_bytes) {
  if (header == nullptr) {
    sampler_set_rate(rate_bytes);
    return;
  }
  header->thin.rate_before.store(ThinState::kNone, std::memory_order_relaxed);
  put_in_force(header, rate_bytes, platform::monotonic_ns());
}

void follow(ArenaHeader* header, uint64_t rate_bytes, uint64_t now_ns) {
  uint64_t raised = 0;
  if (header->thin.rate_before.load(std::memory_order_relaxed) != ThinState::kNone) {
    header->thin.rate_before.store(rate_bytes, std::memory_order_relaxed);
    raised = header->thin.rate_bytes.load(std::memory_order_relaxed);
  }
  put_in_force(header, rate_bytes > raised ? rate_bytes : raised, now_ns);
}

void raise(ArenaHeader* header, uint64_t rate_bytes, uint64_t now_ns) {
  header->thin.rate_bytes.store(rate_bytes, std::memory_order_relaxed);
  uint64_t none = ThinState::kNone;
  header->thin.rate_before.compare_exchange_strong(none, sampler_rate(), std::memory_order_relaxed);
  put_in_force(header, rate_bytes, now_ns);
}

void fall_back(ArenaHeader* header, uint64_t now_ns) {
  const uint64_t before = header->thin.rate_before.exchange(ThinState::kNone, std::memory_order_relaxed);
  if (before != ThinState::kNone) {
    put_in_force(header, before, now_ns);
  }
}

void count_sample(RateLog* log, uint64_t rate_bytes, uint64_t weight_bytes) {
  use_of(log, rate_bytes).weight_bytes.fetch_add(weight_bytes, std::memory_order_relaxed);
}

}  // namespace memprof::rates
