// SPDX-License-Identifier: Apache-2.0
// Does a free that is no sample's stay as cheap as it was?  Two engines' tables of the same content, one new,
// one after PAIRS inserts and erases, are asked for the same unknown addresses in turn.
//
// "Filter" is the probe that every free makes; "filter and map" is what a free costs whose granule has a
// sample.  Both tables hold the same LIVE samples when they are measured.
//
// usage: churn [PAIRS [ROUNDS]]
#include "core/sampling/sampled_filter.h"
#include "core/tables/heap_map.h"
#include "platform/memory.h"
#include "program.h"

namespace memprof {
namespace {

constexpr uint64_t kLive = 10000;
constexpr uint64_t kQuestions = 200000;

struct Tables {
  Arena arena;
  HeapMap live;
  SampledFilter filter;
};
Tables g_new;
Tables g_old;
uint64_t g_sink;

// Spread over 4 GiB, 16-byte aligned, each different.
uint64_t address(uint64_t i) {
  return 0x7f0000000000ull + (i * 0x9e3779b97f4a7c15ull >> 36 << 4) % (uint64_t{1} << 32);
}

void insert(Tables& t, uint64_t a) {
  if (!t.live.insert({{a, 64, 1, 0, 0, 0}})) {
    bench_fail("the map is full");
  }
  t.filter.mark(a);
}

void erase(Tables& t, uint64_t a) {
  LiveSample erased;
  if (!t.live.erase(a, &erased)) {
    bench_fail("the map lost a sample");
  }
  t.filter.unmark(a);
}

// The i-th live sample at a time: keys of the steady content are odd multiples, so that no other meets them.
uint64_t steady(uint64_t i) {
  return address(i) | 8;
}

__attribute__((noinline)) void ask_filter(const Tables& t, uint64_t seed) {
  for (uint64_t i = 0; i < kQuestions; ++i) {
    g_sink += t.filter.may_contain(reinterpret_cast<const void*>(address(seed + i)));
  }
}

__attribute__((noinline)) void ask_map(const Tables& t, uint64_t seed) {
  for (uint64_t i = 0; i < kQuestions; ++i) {
    g_sink += static_cast<bool>(t.live.find(address(seed + i)));
  }
}

template <typename Ask>
uint64_t time_ns(const Ask& ask) {
  const uint64_t begin = bench_cpu_ns();
  ask();
  return bench_cpu_ns() - begin;
}

void make(Tables& t) {
  t.arena = Arena::create(kDefaultLimits);
  if (!t.arena) {
    bench_fail("no memory for an arena");
  }
  t.live = HeapMap(t.arena);
  // As the profiler does it; and every page in memory, or one table would read the kernel's page of zeros.
  platform::advise_sparse(const_cast<void*>(t.filter.memory()), SampledFilter::memory_bytes());
  for (uint64_t a = 0; a < uint64_t{1} << 32; a += uint64_t{1} << 20) {
    t.filter.mark(a);
    t.filter.unmark(a);
  }
  for (uint64_t i = 0; i < kLive; ++i) {
    insert(t, steady(i));
  }
}

}  // namespace
}  // namespace memprof

int main(int argc, char** argv) {
  using namespace memprof;
  const uint64_t pairs = bench_argument(argc, argv, 1, 10000000);
  const uint64_t rounds = bench_argument(argc, argv, 2, 31);
  make(g_new);
  make(g_old);
  // A window of 1,000 more samples that moves on through the addresses.
  constexpr uint64_t kWindow = 1000;
  for (uint64_t i = 0; i < pairs + kWindow; ++i) {
    if (i < pairs) {
      insert(g_old, address(i));
    }
    if (i >= kWindow) {
      erase(g_old, address(i - kWindow));
    }
  }
  if (g_old.live.size() != g_new.live.size()) {
    bench_fail("the map did not forget");
  }
  for (uint64_t round = 0; round < rounds; ++round) {
    const uint64_t seed = (uint64_t{1} << 40) + round * kQuestions;
    uint64_t filter_ns[2] = {0, 0};
    uint64_t map_ns[2] = {0, 0};
    // new, old, old, new, added up: each is asked once after itself and once after the other one.
    for (int turn = 0; turn < 4; ++turn) {
      const bool old = turn == 1 || turn == 2;
      const Tables& t = old ? g_old : g_new;
      filter_ns[old] += time_ns([&] { ask_filter(t, seed); });
      map_ns[old] += time_ns([&] { ask_map(t, seed); });
    }
    printf(
        "{\"questions\": %llu, \"filter_new_ns\": %llu, \"filter_old_ns\": %llu, \"map_new_ns\": %llu, "
        "\"map_old_ns\": %llu, \"levels_new\": %u, \"levels_old\": %u}\n",
        (unsigned long long)(2 * kQuestions), (unsigned long long)filter_ns[0],
        (unsigned long long)filter_ns[1], (unsigned long long)map_ns[0], (unsigned long long)map_ns[1],
        g_new.arena.header().live_levels.open.load(), g_old.arena.header().live_levels.open.load());
  }
  return g_sink == 42;
}
