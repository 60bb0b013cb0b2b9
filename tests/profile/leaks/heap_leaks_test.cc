// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/heap_leaks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace memprof::profile::heap_leaks_test {
namespace {

constexpr double kRate = 512 * 1024;
constexpr double kMiB = 1 << 20;

// A heap that is looked at each second: what lives of a place, and what its garbage, collected from time to time,
// adds to it; each seen through samples.
class Heap {
 public:
  explicit Heap(uint64_t seed) : random_(seed) {}

  // `live`: bytes at a time in seconds.  Garbage comes at `garbage` bytes a second and is collected each `period`
  // seconds.
  std::vector<HeapLook> looks(int count, const std::function<double(double)>& live, double garbage,
                              double period) {
    std::vector<HeapLook> looks;
    double kept = 0;  // samples of what lives
    double exact = 0;
    for (int i = 1; i <= count; ++i) {
      const double now = live(i);
      // Samples come with what is added, and go in proportion with what is let go.
      kept = now > exact ? kept + poisson((now - exact) / kRate) : std::round(kept * now / exact);
      exact = now;
      const double waste = poisson(garbage * std::fmod(i, period) / kRate);
      looks.push_back({i / 60.0, (kept + waste) * kRate, (kept + waste + 4) * kRate});
    }
    return looks;
  }

 private:
  double poisson(double mean) { return mean > 0 ? std::poisson_distribution<int>(mean)(random_) : 0; }

  std::mt19937_64 random_;
};

// How often of 100 times the verdict is this one.
int times(LeakVerdict verdict, const std::function<double(double)>& live, double garbage, double period) {
  int count = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const std::vector<HeapLook> looks = Heap(seed).looks(24, live, garbage, period);
    const std::optional<Slope> slope = heap_slope_of(looks, kRate);
    count += (slope ? heap_verdict(*slope, looks) : LeakVerdict::kUnknown) == verdict ? 1 : 0;
  }
  return count;
}

int accused(const std::function<double(double)>& live, double garbage, double period) {
  return times(LeakVerdict::kLeak, live, garbage, period);
}

TEST(HeapLeaks, WhatGrowsIsFoundAmongGarbage) {
  const auto leak = [](double t) { return 2 * kMiB * t; };
  EXPECT_GE(accused(leak, 0.5 * kMiB, 2.5), 90);
  EXPECT_EQ(times(LeakVerdict::kLevel, leak, 0.5 * kMiB, 2.5), 0);
  // Four times as much garbage as it keeps, collected each few looks: half of it is left open.
  EXPECT_GE(accused(leak, 8 * kMiB, 3.7), 40);
  EXPECT_LE(times(LeakVerdict::kLevel, leak, 8 * kMiB, 3.7), 2);
}

TEST(HeapLeaks, WhatIsCollectedDoesNotGrow) {
  EXPECT_LE(accused([](double) { return 10 * kMiB; }, 8 * kMiB, 3.7), 1);
  EXPECT_LE(accused([](double) { return 0; }, 20 * kMiB, 5.3), 1);
  // A cache that was filled in the first third.
  EXPECT_LE(accused([](double t) { return 5 * kMiB * std::min(t, 8.0); }, 4 * kMiB, 3.7), 2);
  // One that is emptied now and then.
  EXPECT_LE(accused([](double t) { return 3 * kMiB * std::fmod(t, 7); }, 0, 2), 2);
}

TEST(HeapLeaks, NothingIsSaidOfFewLooksOrWithoutCollections) {
  const auto leak = [](double t) { return 2 * kMiB * t; };
  EXPECT_FALSE(heap_slope_of(Heap(1).looks(15, leak, 4 * kMiB, 2), kRate));
  EXPECT_TRUE(heap_slope_of(Heap(1).looks(16, leak, 8 * kMiB, 2), kRate));
  EXPECT_FALSE(heap_slope_of(Heap(1).looks(24, [](double t) { return (40 + t) * kMiB; }, 0, 2), kRate));
  EXPECT_FALSE(heap_slope_of({}, kRate));
}

FrameGroup place(const std::string& name, int64_t line) {
  FrameGroup group;
  group.name = name;
  group.file = "app.js";
  group.line = line;
  return group;
}

TEST(HeapLeaks, APlaceIsSummedOverTheProcessesThatLast) {
  const std::vector<HeapLook> values =
      Heap(3).looks(24, [](double t) { return 4 * kMiB * t; }, 0.5 * kMiB, 2.5);
  std::vector<HeapPlaces> heaps(values.size() + 1);
  std::vector<const HeapPlaces*> looks;
  std::vector<double> minutes;
  for (size_t i = 0; i < values.size(); ++i) {
    heaps[i + 1].add(place("keep", 3), "a", values[i].bytes / 2);
    heaps[i + 1].add(place("keep", 3), "b", values[i].bytes / 2);
    heaps[i + 1].add(place("level", 9), "a", 90 * kMiB);
    if (i + 1 == values.size()) heaps[i + 1].add(place("keep", 3), "late", 500 * kMiB);
  }
  for (size_t i = 0; i < heaps.size(); ++i) {  // the first look has nothing yet
    looks.push_back(&heaps[i]);
    minutes.push_back(static_cast<double>(i) / 60);
  }
  const HeapLeaks alone = judge_heap({looks.back()}, {1}, {"a", "b", "late"}, kRate);
  ASSERT_EQ(alone.rows.size(), 2u);
  EXPECT_EQ(alone.suspects, 0u);
  EXPECT_EQ(alone.rows[0].place.name, "keep");
  EXPECT_EQ(alone.rows[0].verdict, LeakVerdict::kUnknown);
  EXPECT_NEAR(alone.bytes, values.back().bytes + 590 * kMiB, 1);

  // Its heap is 90 MiB more: it does not even double, and collections take less than a twentieth of it away.
  EXPECT_FALSE(judge_heap(looks, minutes, {"a", "b"}, kRate).rows[0].slope);
  const HeapLeaks b = judge_heap(looks, minutes, {"b"}, kRate);
  ASSERT_TRUE(b.rows[0].slope);
  EXPECT_EQ(b.suspects, 1u);
  EXPECT_EQ(b.rows[0].place.name, "keep");
  EXPECT_EQ(b.rows[0].verdict, LeakVerdict::kLeak);
  EXPECT_NEAR(b.rows[0].slope->bytes_per_minute, 120 * kMiB, 40 * kMiB);
}

// Twelve places at their levels, with garbage each: 100 programs, of which 4 may accuse one.
TEST(HeapLeaks, OfManyPlacesThatDoNotGrowNoneIsAccused) {
  int accusing = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    std::vector<HeapPlaces> heaps(24);
    std::vector<double> minutes;
    std::vector<const HeapPlaces*> looks;
    for (int place_number = 0; place_number < 12; ++place_number) {
      Heap heap(seed * 100 + static_cast<uint64_t>(place_number));
      const std::vector<HeapLook> values = heap.looks(24, [](double) { return 8 * kMiB; }, 4 * kMiB, 3.7);
      for (size_t i = 0; i < values.size(); ++i)
        heaps[i].add(place("level", place_number), "a", values[i].bytes);
    }
    for (size_t i = 0; i < heaps.size(); ++i) {
      looks.push_back(&heaps[i]);
      minutes.push_back(static_cast<double>(i) / 60);
    }
    accusing += judge_heap(looks, minutes, {"a"}, kRate).suspects != 0 ? 1 : 0;
  }
  EXPECT_LE(accusing, 4);
}

}  // namespace
}  // namespace memprof::profile::heap_leaks_test
