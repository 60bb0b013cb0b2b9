// SPDX-License-Identifier: Apache-2.0
// Tables that are full: ten million different stacks, and twice as many live blocks as there is room for.
//
// The engine is linked in without its hooks; stacks are real, of two functions that call each other in the
// order of the bits of a number.  Each block of a size that follows from its number is found as a clock of the
// rate in force would find it.  At the end: what is live and what was allocated, over the truth, the memory of
// the tables, how many of the last 1,000 stacks are whole, and how long events took.
//
// usage: storm [STACKS [LIVE_BLOCKS [RATE]]]
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/reader/snapshot.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "platform/clock.h"
#include "program.h"

namespace memprof {
namespace {

constexpr uint32_t kLevels = 24;

uint64_t g_random = 88172645463325252ull;
std::vector<uint32_t> g_times;  // of events, in nanoseconds
uint64_t g_sink;

double uniform() {
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  g_random ^= g_random << 17;
  return static_cast<double>(g_random >> 11) * 0x1p-53;
}

struct Block {
  uint64_t address;
  uint64_t size_bytes;
  uint64_t rate_bytes;
};

[[gnu::noinline]] void record(const Block& b) {
  const uint64_t begin = platform::monotonic_ns();
  profiler::record_allocation(reinterpret_cast<void*>(b.address), b.size_bytes, b.rate_bytes,
                              {__builtin_frame_address(0)});
  g_times.push_back(static_cast<uint32_t>(platform::monotonic_ns() - begin));
}

[[gnu::noinline]] void descend_left(uint64_t bits, uint32_t levels, const Block& b);
[[gnu::noinline]] void descend_right(uint64_t bits, uint32_t levels, const Block& b) {
  if (levels == 0) {
    record(b);
  } else if ((bits & 1) != 0) {
    descend_left(bits >> 1, levels - 1, b);
  } else {
    descend_right(bits >> 1, levels - 1, b);
  }
  ++g_sink;
}
void descend_left(uint64_t bits, uint32_t levels, const Block& b) {
  if (levels == 0) {
    record(b);
  } else if ((bits & 1) != 0) {
    descend_left(bits >> 1, levels - 1, b);
  } else {
    descend_right(bits >> 1, levels - 1, b);
  }
  ++g_sink;
}

uint64_t size_of(uint64_t i) {
  return uint64_t{64} << i % 8;
}
uint64_t address_of(uint64_t i, uint64_t live) {
  return 0x100000000 + i % live * 8192;
}

void run(uint64_t stacks, uint64_t live, uint64_t rate) {
  profiler::initialize(kDefaultLimits, rate);
  profiler::start();
  g_times.reserve(stacks);
  double allocated = 0;
  double living = 0;
  for (uint64_t i = 0; i < stacks; ++i) {
    if (i >= live) {
      const auto old = reinterpret_cast<void*>(address_of(i, live));
      profiler::record_free(old);
      living -= static_cast<double>(size_of(i - live));
    }
    const Block b{address_of(i, live), size_of(i), sampler_rate()};
    allocated += static_cast<double>(b.size_bytes);
    living += static_cast<double>(b.size_bytes);
    if (uniform() < weigh(b.size_bytes, b.rate_bytes).probability) {
      descend_left(i * 0x9e3779b1 >> 8, kLevels, b);
    }
  }
  const Counters c = profiler::counters();
  bool is_arena = false;
  const Arena arena = profiler::arena();
  Snapshot* s = Snapshot::read(arena.base(), arena.header().total_bytes, &is_arena);
  double seen = 0;
  double variance = 0;
  uint64_t whole = 0;
  uint64_t newest = 0;
  std::vector<const SnapshotRecord*> records;
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    seen += s->stacks.data[i].allocated.weight_bytes;
  }
  for (uint64_t i = 0; i < s->records.size; ++i) {
    const SnapshotRecord& r = s->records.data[i];
    variance += (1 - weigh(r.size_bytes, r.rate_bytes).probability) * r.weight_bytes * r.weight_bytes;
    records.push_back(&r);
  }
  std::sort(records.begin(), records.end(),
            [](const auto* a, const auto* b) { return a->time_ns > b->time_ns; });
  for (; newest < records.size() && newest < 1000; ++newest) {
    whole += s->stacks.data[records[newest]->stack_id].frame_count > kLevels;
  }
  std::sort(g_times.begin(), g_times.end());
  const auto quantile = [](double q) {
    return g_times[static_cast<size_t>(q * static_cast<double>(g_times.size() - 1))];
  };
  printf(
      "{\"stacks\": %llu, \"samples\": %llu, \"live_samples\": %llu, \"thinned\": %llu, \"folded\": %llu, "
      "\"dropped\": %llu, \"rate\": %llu,\n \"live_over_truth\": %.5f, \"interval\": %.5f, "
      "\"allocated_over_truth\": %.5f, \"used_mib\": %.1f, \"newest_whole\": \"%llu of %llu\",\n "
      "\"event_ns\": {\"50 %%\": %u, \"99 %%\": %u, \"99.99 %%\": %u, \"longest\": %u}}\n",
      static_cast<unsigned long long>(stacks), static_cast<unsigned long long>(c.samples),
      static_cast<unsigned long long>(c.live_samples), static_cast<unsigned long long>(c.thinned_samples),
      static_cast<unsigned long long>(c.folded_stacks),
      static_cast<unsigned long long>(c.dropped_live_table + c.dropped_stack_table),
      static_cast<unsigned long long>(c.rate_bytes), s->live_weight_bytes / living,
      1.96 * std::sqrt(variance) / living, seen / allocated,
      static_cast<double>(c.arena_used_bytes) / (1 << 20), static_cast<unsigned long long>(whole),
      static_cast<unsigned long long>(newest), quantile(0.5), quantile(0.99), quantile(0.9999),
      g_times.back());
  Snapshot::release(s);
}

}  // namespace
}  // namespace memprof

int main(int argc, char** argv) {
  const auto number = [&](int i, uint64_t otherwise) {
    return argc > i ? strtoull(argv[i], nullptr, 10) : otherwise;
  };
  memprof::run(number(1, 10000000), number(2, 2000000), number(3, 1));
}
