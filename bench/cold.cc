// SPDX-License-Identifier: Apache-2.0
// The cold path, part by part: nanoseconds for one sampled allocation and its free.
//
// The engine is linked in without its hooks, so each part is called by itself, as record_allocation and
// record_free call it: 1,000 stacks of 12 frames, 10,000 live samples at scattered addresses.  What a real
// program adds are cache misses, because it does other things between two samples; bench/mixed measures that.
//
// usage: cold [ROUNDS]
#include <algorithm>
#include <vector>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "core/tables/heap_map.h"
#include "core/tables/stack_table.h"
#include "platform/clock.h"
#include "platform/stack.h"
#include "program.h"

namespace memprof {
namespace {

constexpr uint32_t kStacks = 1000;
constexpr uint32_t kDepth = 12;
constexpr uint64_t kLive = 10000;
constexpr uint64_t kRateBytes = 512 * 1024;

uint64_t g_random = 88172645463325252ull;
uint64_t g_sink;

uint64_t next_random() {
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  g_random ^= g_random << 17;
  return g_random;
}

// Median and quartiles, over rounds, of the time of body(i) for i in [0, n).
template <typename Body>
void measure(const char* name, uint64_t rounds, uint64_t n, const Body& body) {
  std::vector<double> times;
  for (uint64_t round = 0; round <= rounds; ++round) {
    const uint64_t begin = bench_cpu_ns();
    for (uint64_t i = 0; i < n; ++i) {
      body(i);
    }
    const uint64_t end = bench_cpu_ns();
    if (round > 0) {  // the first warms up
      times.push_back(static_cast<double>(end - begin) / static_cast<double>(n));
    }
  }
  std::sort(times.begin(), times.end());
  printf("{\"part\": \"%s\", \"ns\": %.1f, \"low\": %.1f, \"high\": %.1f}\n", name, times[times.size() / 2],
         times[times.size() / 4], times[times.size() * 3 / 4]);
}

// A stack of kDepth more frames, with the body at its end.
template <typename Body>
__attribute__((noinline)) uint64_t descend(uint32_t depth, const Body& body) {
  if (depth == 0) {
    body(__builtin_frame_address(0));
    return 1;
  }
  uint64_t frames = descend(depth - 1, body) + 1;
  bench_escape(&frames);  // or the compiler makes a loop of it
  return frames;
}

uint64_t block_address(uint64_t i) {
  return 0x7f0000000000ull + i * 0x9e3779b97f4a7c15ull % (uint64_t{1} << 30) / 16 * 16;
}

void measure_parts(uint64_t rounds) {
  const Arena arena = Arena::create(kDefaultLimits);
  if (!arena) {
    bench_fail("no memory for an arena");
  }
  static SampledFilter filter;
  HeapMap live(arena);
  StackTable stacks(arena);
  std::vector<uint64_t> frames(kStacks * kDepth);
  for (uint64_t& frame : frames) {
    frame = 0x555500000000ull + next_random() % 0x1000000;
  }
  const auto stack = [&](uint64_t i) { return &frames[i * 7919 % kStacks * kDepth]; };
  bool is_new;
  for (uint32_t i = 0; i < kStacks; ++i) {
    stacks.intern(stack(i), kDepth, platform::Walk::kRoot, &is_new);
  }
  const auto size = [](uint64_t i) { return 16 + i % 4096; };

  measure("clock: sampler_event", rounds, kLive, [&](uint64_t i) {
    t_sampler.count = ~uint64_t{0};
    const SamplingEvent event = sampler_event(size(i));
    sampler_resume(event);
    g_sink += event.next_count;
  });
  measure("weigh", rounds, kLive,
          [&](uint64_t i) { g_sink += static_cast<uint64_t>(weigh(size(i), kRateBytes).bytes); });
  measure("time stamp", rounds, kLive, [](uint64_t) { g_sink += platform::monotonic_ns(); });
  measure("owner mark", rounds, kLive, [](uint64_t) { g_sink += profiler::is_owner(); });
  descend(kDepth - 3, [&](const void* frame) {
    uint64_t once[128];
    char name[64];
    snprintf(name, sizeof(name), "walk, %u frames", platform::capture_stack({frame}, once, 128).depth);
    measure(name, rounds, kLive, [frame](uint64_t) {
      uint64_t walked[128];
      g_sink += platform::capture_stack({frame}, walked, 128).depth;
    });
  });
  measure("intern", rounds, kLive,
          [&](uint64_t i) { g_sink += stacks.intern(stack(i), kDepth, platform::Walk::kRoot, &is_new); });
  measure("totals, allocated", rounds, kLive, [&](uint64_t i) {
    stacks.add_allocated(static_cast<uint32_t>(i * 7919 % kStacks), size(i), {0.5, 2.0, 1024.0, 1.0});
  });
  measure("totals, freed", rounds, kLive, [&](uint64_t i) {
    stacks.add_freed(static_cast<uint32_t>(i * 7919 % kStacks), size(i), {0.5, 2.0, 1024.0, 1.0}, 1000 + i);
  });
  for (uint64_t i = 0; i < kLive; ++i) {
    live.insert({{block_address(i), 64, kRateBytes, 1, 0, 1}});
  }
  measure("live map: erase and insert", rounds, kLive, [&](uint64_t i) {
    LiveSample erased;
    live.erase(block_address(i), &erased);
    live.insert(erased);
  });
  measure("live map: a miss", rounds, kLive,
          [&](uint64_t i) { g_sink += static_cast<bool>(live.find(block_address(i + kLive))); });
  measure("filter: mark and unmark", rounds, kLive, [&](uint64_t i) {
    filter.mark(block_address(i));
    filter.unmark(block_address(i));
  });
}

void measure_whole(uint64_t rounds) {
  if (profiler::initialize(kDefaultLimits, kRateBytes) != Status::kOk || profiler::start() != Status::kOk) {
    bench_fail("the profiler does not start");
  }
  descend(kDepth - 3, [&](const void* frame) {
    const auto block = [](uint64_t i) { return reinterpret_cast<const void*>(block_address(i)); };
    for (uint64_t i = 0; i < kLive; ++i) {
      profiler::record_allocation(block(i), 64, kRateBytes, {frame});
    }
    measure("whole: record_free and record_allocation", rounds, kLive, [&](uint64_t i) {
      profiler::record_free(block(i));
      profiler::record_allocation(block(i), 16 + i % 4096, kRateBytes, {frame});
    });
  });
}

}  // namespace
}  // namespace memprof

int main(int argc, char** argv) {
  const uint64_t rounds = std::max<uint64_t>(bench_argument(argc, argv, 1, 21), 4);
  memprof::measure_parts(rounds);
  memprof::measure_whole(rounds);
  return memprof::g_sink == 42;
}
