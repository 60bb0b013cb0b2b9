// SPDX-License-Identifier: Apache-2.0
#include "core/tables/peak.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>

#include "core/reader/snapshot.h"
#include "platform/stack.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::peak_test {
namespace {

using testing_support::Random;
using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::take;

// Stacks, and what is live of each at the peak.
class Heap {
 public:
  explicit Heap(uint32_t stacks) : peaks_(a_.arena) {
    a_.arena.header().peak.seed = 42;
    for (uint64_t i = 0; i < stacks; ++i) {
      const uint64_t frame = 0x400000 + i * 64;
      bool is_new = false;
      EXPECT_EQ(i, a_.stacks.intern(&frame, 1, platform::Walk::kRoot, &is_new));
    }
  }

  LiveSample sample(uint32_t stack, uint64_t size_bytes, uint64_t rate_bytes = 1) {
    ++clock_;
    return {{0x7f0000000000 + clock_ * 64, size_bytes, rate_bytes, clock_, stack, 1}};
  }
  LiveSample add(uint32_t stack, uint64_t size_bytes, uint64_t rate_bytes = 1) {
    const LiveSample s = sample(stack, size_bytes, rate_bytes);
    EXPECT_TRUE(a_.live.insert(s));
    peaks_.add(s);
    return s;
  }
  void free(const LiveSample& s) {
    LiveSample freed{};
    EXPECT_TRUE(a_.live.erase(s.address, &freed));
    peaks_.take(freed, ++clock_);
  }

  double bytes(uint32_t stack) { return peak_of(stack).weight_bytes; }
  uint64_t blocks(uint32_t stack) { return peak_of(stack).samples; }
  SnapshotTotals peak_of(uint32_t stack) {
    const auto s = take(a_.arena);
    EXPECT_LT(stack, s->peaks.size);
    return s->peaks.data[stack];
  }
  double total() { return take(a_.arena)->peak.weight_bytes; }
  ScopedArena& arena() { return a_; }
  PeakTable& peaks() { return peaks_; }

 private:
  ScopedArena a_;
  PeakTable peaks_;
  uint64_t clock_ = 0;
};

TEST(Peak, ExactRateGivesTheHeapAtItsHighest) {
  Heap heap(3);
  const LiveSample a = heap.add(0, 1000);
  const LiveSample b = heap.add(1, 500);
  EXPECT_EQ(1500, heap.total());  // still rising: what is live now
  heap.free(a);                   // 1500 was the highest
  heap.add(2, 600);               // 1100
  EXPECT_EQ(1000, heap.bytes(0));
  EXPECT_EQ(500, heap.bytes(1));
  EXPECT_EQ(0, heap.bytes(2));
  heap.free(b);
  EXPECT_EQ(500, heap.bytes(1));
  EXPECT_EQ(1u, heap.blocks(1));
  heap.add(2, 1000);  // 1600: higher than ever
  EXPECT_EQ(0, heap.bytes(0));
  EXPECT_EQ(0, heap.bytes(1));
  EXPECT_EQ(1600, heap.bytes(2));
  EXPECT_EQ(2u, heap.blocks(2));
  EXPECT_EQ(1600, heap.total());
}

TEST(Peak, AStackWithoutEventsSinceThePeakIsAsItWas) {
  Heap heap(2);
  heap.add(0, 3000);
  const LiveSample b = heap.add(1, 1000);
  heap.free(b);
  heap.add(1, 100);
  EXPECT_EQ(3000, heap.bytes(0));
  EXPECT_EQ(1000, heap.bytes(1));
}

TEST(Peak, FollowsTheHighestOfManyCyclesExactly) {
  Random random(7);
  Heap heap(8);
  std::deque<LiveSample> live;
  uint64_t now = 0;
  uint64_t highest = 0;
  double at_highest[8] = {};
  double current[8] = {};
  for (int i = 0; i < 20000; ++i) {
    if (live.empty() || (random.next() % 100 < 50 && live.size() < 40)) {
      const auto stack = static_cast<uint32_t>(random.next() % 8);
      const LiveSample s = heap.add(stack, 1000 + random.next() % 9000);
      live.push_back(s);
      now += s.size_bytes;
      current[stack] += static_cast<double>(s.size_bytes);
      if (now > highest) {
        highest = now;
        std::copy(current, current + 8, at_highest);
      }
    } else {
      std::swap(live[random.next() % live.size()], live.back());
      heap.free(live.back());
      now -= live.back().size_bytes;
      current[live.back().stack_id] -= static_cast<double>(live.back().size_bytes);
      live.pop_back();
    }
  }
  for (uint32_t stack = 0; stack < 8; ++stack) EXPECT_EQ(at_highest[stack], heap.bytes(stack)) << stack;
  EXPECT_EQ(static_cast<double>(highest), heap.total());
}

TEST(Peak, ResetBeginsWithWhatIsLive) {
  Heap heap(2);
  const LiveSample a = heap.add(0, 9000);
  heap.add(1, 100);
  heap.free(a);
  EXPECT_EQ(9100, heap.total());
  heap.peaks().reset(77);
  EXPECT_EQ(100, heap.total());
  const LiveSample b = heap.add(0, 300);
  heap.free(b);
  EXPECT_EQ(400, heap.total());
}

// A heap that never falls is told by all samples, as what is live is.
TEST(Peak, OfAHeapThatNeverFallsIsWhatIsLive) {
  Heap heap(2);
  for (int i = 0; i < 500; ++i) heap.add(static_cast<uint32_t>(i % 2), 1000, 4096);
  EXPECT_EQ(250u, heap.blocks(0));
  const auto s = take(heap.arena().arena);
  EXPECT_NEAR(s->live_weight_bytes, s->peak.weight_bytes, 1e-3);
  EXPECT_NEAR(s->live_weight_bytes, s->peaks.data[0].weight_bytes + s->peaks.data[1].weight_bytes, 1e-3);
  const double missed = 1 - weigh(1000, 4096).probability;
  EXPECT_NEAR(250 * missed * std::pow(weigh(1000, 4096).bytes, 2), s->peaks.data[0].variance_bytes, 1e-3);
}

// What went since is told by one half, what is still there by all samples.
TEST(Peak, SurvivorsOfAPeakThatIsNearlyAllThereCountWhole) {
  Heap heap(2);
  for (int i = 0; i < 600; ++i) heap.add(0, 1000, 4096);
  std::deque<LiveSample> gone;
  for (int i = 0; i < 20; ++i) gone.push_back(heap.add(1, 1000, 4096));
  for (const LiveSample& s : gone) heap.free(s);
  for (int i = 0; i < 5; ++i) heap.add(1, 1000, 4096);  // after the peak
  EXPECT_EQ(600u, heap.blocks(0));
  const auto share = [&](const LiveSample& s) { return peak_share(s, heap.arena().header().peak.seed); };
  // The first that chooses closes the peak.
  const auto closing =
      std::find_if(gone.begin(), gone.end(), [&](const LiveSample& s) { return share(s).chooses; });
  const auto counted = static_cast<uint64_t>(
      std::count_if(closing, gone.end(), [&](const LiveSample& s) { return share(s).counts; }));
  EXPECT_EQ(counted, heap.blocks(1));
  const Weight half = weigh(1000, 8192);
  EXPECT_NEAR(static_cast<double>(counted) * half.bytes, heap.bytes(1), 1e-3);
}

TEST(Peak, HalvesAreWhatClocksOfTwiceTheRateWouldFind) {
  constexpr uint64_t kRate = 4096;
  constexpr int kSamples = 200000;
  for (const uint64_t size : {uint64_t{16}, uint64_t{1000}, uint64_t{8192}, uint64_t{40000}}) {
    const double q = std::exp(-static_cast<double>(size) / (2 * kRate));
    int chooses = 0, counts = 0, both = 0;
    for (uint64_t i = 0; i < kSamples; ++i) {
      const PeakShare share = peak_share({0x1000 + 64 * i, size, kRate, 1000 * i, 0, 0}, 42);
      EXPECT_TRUE(share.chooses || share.counts);
      EXPECT_NEAR(1 / (1 - q), share.weight.count, 1e-9 / (1 - q));
      chooses += share.chooses;
      counts += share.counts;
      both += share.chooses && share.counts;
    }
    const auto within_6_sigma = [](double expected, int found) {
      const double sigma = std::sqrt(kSamples * expected * (1 - expected)) + 1e-9;
      EXPECT_LT(std::fabs(found - kSamples * expected), 6 * sigma) << expected;
    };
    within_6_sigma(1 / (1 + q), chooses);
    within_6_sigma(1 / (1 + q), counts);
    within_6_sigma((1 - q) / (1 + q), both);
  }
}

TEST(Peak, AFreedSampleTakesOutWhatItBrought) {
  Heap heap(1);
  std::deque<LiveSample> live;
  for (int i = 0; i < 1000; ++i) live.push_back(heap.add(0, 100 + i, 4096));
  heap.add(0, 7, 1);
  for (const LiveSample& s : live) heap.free(s);
  heap.peaks().reset(1);
  EXPECT_EQ(1u, heap.blocks(0));
  EXPECT_NEAR(7, heap.bytes(0), 1e-3);
  EXPECT_EQ(7u, heap.arena().header().peak.chooser_bytes.load());
}

// A plateau on which blocks come and go: the truth stays the same, and the highest of the estimates would be
// far above it.
TEST(Peak, IsUnbiasedOnAPlateau) {
  constexpr uint64_t kRate = 65536;
  constexpr uint64_t kSize = 1024;
  constexpr uint64_t kBlocks = 6400;  // 100 samples
  constexpr int kRuns = 60;
  const double truth = static_cast<double>(kSize * kBlocks);
  const double probability = weigh(kSize, kRate).probability;
  Random random(11);
  double sum = 0, squares = 0, highest = 0;
  for (int run = 0; run < kRuns; ++run) {
    Heap heap(1);
    std::deque<LiveSample> blocks;  // those that are sampled; the others only pass
    std::deque<bool> is_sampled;
    double now = 0, max = 0;
    for (uint64_t i = 0; i < 11 * kBlocks; ++i) {
      if (i >= kBlocks) {
        if (is_sampled.front()) {
          heap.free(blocks.front());
          blocks.pop_front();
          now -= static_cast<double>(kSize) / probability;
        }
        is_sampled.pop_front();
      }
      is_sampled.push_back(static_cast<double>(random.next() >> 11) * 0x1p-53 < probability);
      if (is_sampled.back()) {
        blocks.push_back(heap.add(0, kSize, kRate));
        now += static_cast<double>(kSize) / probability;
      }
      max = std::max(max, now);
    }
    const double ratio = heap.total() / truth;
    sum += ratio;
    squares += ratio * ratio;
    highest += max / truth / kRuns;
  }
  const double mean = sum / kRuns;
  const double error = std::sqrt((squares / kRuns - mean * mean) / (kRuns - 1));
  EXPECT_LT(std::fabs(mean - 1), 6 * error) << mean << " +- " << error;
  EXPECT_LT(error, 0.05);
  EXPECT_GT(highest, 1.1);  // what one set of samples would have told
}

TEST(Peak, ThreadsThatRaceLoseNothing) {
  Heap heap(4);
  const uint64_t before = heap.arena().header().peak.chooser_bytes.load();
  run_threads(4, [&](uint64_t thread) {
    for (uint64_t i = 0; i < 20000; ++i) {
      const LiveSample s{{(thread << 32) + 64 * i, 64 + i % 1000, 1, i, static_cast<uint32_t>(i % 4), 1}};
      heap.peaks().add(s);
      heap.peaks().take(s, i);
    }
  });
  EXPECT_EQ(before, heap.arena().header().peak.chooser_bytes.load());
  heap.peaks().reset(1);
  for (uint32_t stack = 0; stack < 4; ++stack) EXPECT_EQ(0u, heap.blocks(stack));
}

}  // namespace
}  // namespace memprof::peak_test
