// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that says which rates there were.
#include <algorithm>

#include "core/rates/load_log.h"
#include "core/reader/snapshot_source.h"

namespace memprof {
namespace {

uint64_t relaxed(const std::atomic<uint64_t>& word) {
  return word.load(std::memory_order_relaxed);
}

// Sums of others may be anything.
uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t both = 0;
  return __builtin_add_overflow(a, b, &both) ? UINT64_MAX : both;
}

}  // namespace

// After the stacks, whose sums tell what was allocated before samples were counted by their rates.
void Snapshot::copy_rates(const Source& source) {
  rates.data = rates_;
  if (source.header().version < kFirstVersionOfLaterStatistics) {
    return;
  }
  const RateLog& log = source.header().rates;
  const uint64_t since = relaxed(log.since_ns);
  const uint64_t first = relaxed(log.first_rate_bytes);
  double counted = 0;
  for (const RatePlace& place : log.uses) {
    const uint64_t rate_plus_one = relaxed(place.rate_plus_one);
    if (rate_plus_one == 0) {
      continue;
    }
    RateUse use{rate_plus_one - 1, relaxed(place.weight_bytes), relaxed(place.time_ns)};
    counted += static_cast<double>(use.weight_bytes);
    if (use.rate_bytes == rate_bytes && time_ns > since) {
      use.time_ns = sum(use.time_ns, time_ns - since);
    }
    rates_[rates.size++] = use;
  }
  double allocated = 0;
  for (uint64_t i = 0; i < stacks.size; ++i) {
    allocated += stacks.data[i].allocated.weight_bytes;
  }
  constexpr double kMax = 1e18;
  for (uint64_t i = 0; i < rates.size; ++i) {
    if (rates_[i].rate_bytes == first && allocated > counted && allocated < kMax) {
      rates_[i].weight_bytes = sum(rates_[i].weight_bytes, static_cast<uint64_t>(allocated - counted));
    }
  }
  std::sort(rates_, rates_ + rates.size,
            [](const RateUse& a, const RateUse& b) { return a.rate_bytes < b.rate_bytes; });
}

void Snapshot::copy_load(const Source& source) {
  if (source.header().version >= kFirstVersionOfLoad) {
    load = load_log::read(source.header().load);
    load.end_ns = time_ns - start_ns;
    load.rate_bytes = rate_bytes;
  }
}

}  // namespace memprof
