// SPDX-License-Identifier: Apache-2.0
// A full table of live samples: fewer samples, which stand for more.
#include "core/engine/thinning.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <vector>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::thinning_test {
namespace {

using testing_support::FakeStack;
using testing_support::in_child;
using testing_support::marked_filter_slots;
using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;
using testing_support::take;

constexpr Limits kLimits{4096, 1024, 64};

void start_at(uint64_t rate_bytes) {
  ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, rate_bytes));
  ASSERT_EQ(Status::kOk, profiler::start());
}

// A block as a clock of the rate in force would find it; true: it was sampled.
bool allocate(uint64_t address, uint64_t size_bytes, Random& random) {
  const uint64_t rate = sampler_rate();
  if (random.uniform() >= weigh(size_bytes, rate).probability) {
    return false;
  }
  const FakeStack stack(0x401000 + address / 16384 % 3000 * 16);
  profiler::record_allocation(reinterpret_cast<void*>(address), size_bytes, rate, stack.entry());
  return true;
}

uint64_t size_of(uint64_t i) {
  return 64 << i % 8;
}
uint64_t address_of(uint64_t i) {
  return 0x10000000 + i * 16384;
}

// What lives, by stack, is what was allocated minus what went; and nobody gives away more than it has.
void expect_sums_agree(const Snapshot& s) {
  const auto* entries = profiler::arena().at<StackEntry>(kStackSection);
  double max = 0;
  double max_variance = 0;
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    max += entries[i].allocated.weight_bytes;
    max_variance += entries[i].variance_bytes;
  }
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const StackTotals& allocated = entries[i].allocated;
    EXPECT_GE(allocated.weight_bytes.load(), static_cast<double>(allocated.size_bytes) - 1e-9 * max) << i;
    EXPECT_GE(allocated.weight_count.load(), static_cast<double>(allocated.samples) - 1e-9 * max) << i;
    EXPECT_GE(entries[i].variance_bytes.load(), -1e-9 * max_variance) << i;
    // As readers see it, to the bit.
    EXPECT_GE(s.stacks.data[i].allocated.weight_bytes,
              static_cast<double>(s.stacks.data[i].allocated.size_bytes));
    EXPECT_GE(s.stacks.data[i].allocated.weight_count,
              static_cast<double>(s.stacks.data[i].allocated.samples));
    EXPECT_GE(s.stacks.data[i].allocated.variance_bytes, 0);
    EXPECT_GE(s.stacks.data[i].allocated.variance_count, 0);
  }
  std::vector<double> live(s.stacks.size);
  std::vector<uint64_t> samples(s.stacks.size);
  for (uint64_t i = 0; i < s.records.size; ++i) {
    live[s.records.data[i].stack_id] += s.records.data[i].weight_bytes;
    ++samples[s.records.data[i].stack_id];
  }
  double all = 0;
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    all += s.stacks.data[i].allocated.weight_bytes;
  }
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& stack = s.stacks.data[i];
    EXPECT_EQ(samples[i], stack.allocated.samples - stack.freed.samples);
    EXPECT_NEAR(live[i], stack.allocated.weight_bytes - stack.freed.weight_bytes, 1e-9 * all);
  }
}

// Over many seeds: the live total is right, whatever its parts' sizes and rates.  Each run is one draw, and the
// intervals of 95 % hold in at least 84 of 100 runs with odds of 1 in 50,000 against.
TEST(Thinning, TheLiveTotalStaysUnbiased) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "one thread, and a hundred processes that start slowly";
#endif
  constexpr int kRuns = 100;
  constexpr uint64_t kBlocks = 30000;
  double truth = 0;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    truth += static_cast<double>(size_of(i));
  }
  double sum = 0;
  double sum_squares = 0;
  int covered = 0;
  struct Result {
    double live;
    double deviation;
  };
  for (int run = 0; run < kRuns; ++run) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    in_child([&] {
      start_at(run % 2 == 0 ? 1 : 256);
      Random random(static_cast<uint64_t>(run) + 1);
      for (uint64_t i = 0; i < kBlocks; ++i) {
        allocate(address_of(i), size_of(i), random);
      }
      const Counters c = profiler::counters();
      EXPECT_EQ(0u, c.dropped_live_table);
      EXPECT_LE(c.live_samples, kLimits.max_live_samples);
      EXPECT_GT(profiler::arena().header().later_statistics.thinned_samples.load(), 0u);
      EXPECT_GT(sampler_rate(), 256u);
      const auto s = take(profiler::arena());
      expect_sums_agree(*s);
      double variance = 0;
      for (uint64_t i = 0; i < s->records.size; ++i) {
        const SnapshotRecord& r = s->records.data[i];
        variance += (1 - weigh(r.size_bytes, r.rate_bytes).probability) * r.weight_bytes * r.weight_bytes;
      }
      const Result result{s->live_weight_bytes, std::sqrt(variance)};
      EXPECT_EQ(static_cast<ssize_t>(sizeof(result)), write(ends[1], &result, sizeof(result)));
    });
    Result result{};
    ASSERT_EQ(static_cast<ssize_t>(sizeof(result)), read(ends[0], &result, sizeof(result)));
    close(ends[0]);
    close(ends[1]);
    sum += result.live / truth;
    sum_squares += result.live / truth * (result.live / truth);
    covered += std::abs(result.live - truth) <= 1.96 * result.deviation;
  }
  const double mean = sum / kRuns;
  const double error = std::sqrt((sum_squares / kRuns - mean * mean) / kRuns);
  EXPECT_NEAR(1.0, mean, 4 * error);
  EXPECT_LT(error, 0.01);
  EXPECT_GE(covered, 84);
}

TEST(Thinning, NothingIsLeftWhenAllIsFreedAndTheRateFallsBack) {
  in_child([] {
    start_at(1);
    Random random(3);
    for (uint64_t i = 0; i < 30000; ++i) {
      allocate(address_of(i), size_of(i), random);
    }
    EXPECT_GT(sampler_rate(), 1u);
    for (uint64_t i = 0; i < 30000; ++i) {
      if (g_sampled_filter.may_be(reinterpret_cast<void*>(address_of(i)))) {
        profiler::record_free(reinterpret_cast<void*>(address_of(i)));
      }
    }
    const Counters c = profiler::counters();
    EXPECT_EQ(0u, c.live_samples);
    EXPECT_EQ(0u, c.live_weight_bytes);
    EXPECT_EQ(c.samples, c.freed_samples + c.thinned_samples);
    if (c.filter_saturated == 0) {
      EXPECT_EQ(0u, marked_filter_slots());
    }
    const auto s = take(profiler::arena());
    expect_sums_agree(*s);
    while (!allocate(address_of(1), 1 << 20, random)) {
    }
    EXPECT_EQ(1u, sampler_rate());
    EXPECT_EQ(1u, profiler::counters().rate_bytes);
  });
}

TEST(Thinning, ARateThatIsSetIsNotTakenBack) {
  in_child([] {
    start_at(1);
    Random random(3);
    for (uint64_t i = 0; i < 30000; ++i) {
      allocate(address_of(i), size_of(i), random);
    }
    profiler::set_rate(512);
    for (uint64_t i = 0; i < 30000; ++i) {
      profiler::record_free(reinterpret_cast<void*>(address_of(i)));
    }
    while (!allocate(address_of(1), 1 << 20, random)) {
    }
    EXPECT_EQ(512u, sampler_rate());
  });
}

// Live samples of older stacks move to shorter ones, so that there is room for new ones.
TEST(Thinning, WhereEveryStackIsLiveTheNewestAreWhole) {
  in_child([] {
    constexpr uint64_t kStacks = 4096;
    constexpr uint64_t kNewest = 1000;
    ASSERT_EQ(Status::kOk, profiler::initialize({32768, kStacks, 64}, 1));
    ASSERT_EQ(Status::kOk, profiler::start());
    constexpr uint64_t kBlocks = 20000;
    const auto caller = [](uint64_t i) { return 0x401000 + i * 16; };
    for (uint64_t i = 0; i < kBlocks; ++i) {
      const FakeStack stack(caller(i));
      profiler::record_allocation(reinterpret_cast<void*>(address_of(i)), 100, 1, stack.entry());
    }
    const auto s = take(profiler::arena());
    ASSERT_EQ(kBlocks, s->records.size);
    EXPECT_NEAR(100.0 * kBlocks, s->live_weight_bytes, 1e-3);
    expect_sums_agree(*s);
    uint64_t whole = 0;
    for (uint64_t i = 0; i < s->records.size; ++i) {
      const SnapshotRecord& r = s->records.data[i];
      const SnapshotStack& stack = s->stacks.data[r.stack_id];
      const uint64_t number = (r.address - address_of(0)) / (address_of(1) - address_of(0));
      if (s->frames.data[stack.first_frame] != platform::kOlderStacks) {
        EXPECT_EQ(caller(number), s->frames.data[stack.first_frame]);
        whole += number >= kBlocks - kNewest;
      }
    }
    EXPECT_EQ(kNewest, whole);  // a table that is full of live samples five times over
    for (uint64_t i = 0; i < kBlocks; ++i) {
      profiler::record_free(reinterpret_cast<void*>(address_of(i)));
    }
    EXPECT_EQ(0u, profiler::counters().live_weight_bytes);
    expect_sums_agree(*take(profiler::arena()));
    const auto* entries = profiler::arena().at<StackEntry>(kStackSection);
    for (uint64_t i = 0; i < kStacks; ++i) {
      EXPECT_EQ(0u, entries[i].uses.load() & ~StackEntry::kLeaving) << i;
    }
  });
}

// Threads allocate and free while samples are thinned and readers look on.
TEST(Thinning, EightThreadsLeaveNothingBehind) {
  in_child([] {
    start_at(64);
    const uint64_t blocks = scaled(20000);
    std::atomic<int> writers{8};
    run_threads(9, [&](int thread) {
      if (thread == 8) {
        while (writers.load() != 0) {
          EXPECT_NE(nullptr, take(profiler::arena()));
        }
        return;
      }
      Random random(static_cast<uint64_t>(thread) + 1);
      const uint64_t base = static_cast<uint64_t>(thread) << 32;
      for (uint64_t i = 0; i < blocks; ++i) {
        allocate(base + address_of(i), size_of(i), random);
        if (i >= 2000) {
          const auto old = reinterpret_cast<void*>(base + address_of(i - 2000));
          if (g_sampled_filter.may_be(old)) {
            profiler::record_free(old);
          }
        }
      }
      for (uint64_t i = blocks < 2000 ? 0 : blocks - 2000; i < blocks; ++i) {
        profiler::record_free(reinterpret_cast<void*>(base + address_of(i)));
      }
      writers.fetch_sub(1);
    });
    const Counters c = profiler::counters();
    EXPECT_EQ(0u, c.live_samples);
    EXPECT_EQ(0u, c.live_weight_bytes);
    EXPECT_EQ(0u, c.dropped_live_table);
    expect_sums_agree(*take(profiler::arena()));
    for (uint64_t i = 0; i < kLimits.max_stacks; ++i) {
      EXPECT_EQ(0u, profiler::arena().at<StackEntry>(kStackSection)[i].uses.load() & ~StackEntry::kLeaving);
    }
  });
}

}  // namespace
}  // namespace memprof::thinning_test
