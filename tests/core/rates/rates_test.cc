// SPDX-License-Identifier: Apache-2.0
#include "core/rates/rates.h"

#include <gtest/gtest.h>

#include "core/sampling/sampler.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::rates_test {
namespace {

using testing_support::ScopedArena;

class Rates : public ::testing::Test {
 protected:
  Rates() {
    sampler_set_rate(4096);
    rates::begin_log(&header(), true);
    start_ns_ = header().start_ns;
  }
  ~Rates() override { sampler_set_rate(kDefaultRateBytes); }
  ArenaHeader& header() { return arena_.arena.header(); }
  uint64_t rate_in_force() {
    EXPECT_EQ(sampler_rate(), header().rate_bytes.load());
    return sampler_rate();
  }
  const RatePlace* place(uint64_t rate) {
    for (const RatePlace& p : header().rates.uses) {
      if (p.rate_plus_one.load() == rate + 1) {
        return &p;
      }
    }
    return nullptr;
  }

  ScopedArena arena_;
  uint64_t start_ns_ = 0;
};

TEST_F(Rates, TheGreaterOfTheTwoIsInForce) {
  rates::follow(&header(), 8192, start_ns_ + 10);
  EXPECT_EQ(8192u, rate_in_force());
  rates::raise(&header(), 65536, start_ns_ + 20);
  EXPECT_EQ(65536u, rate_in_force());
  // A budget goes on below what thinning wants, and above it.
  rates::follow(&header(), 16384, start_ns_ + 30);
  EXPECT_EQ(65536u, rate_in_force());
  rates::follow(&header(), 131072, start_ns_ + 40);
  EXPECT_EQ(131072u, rate_in_force());
  rates::follow(&header(), 12288, start_ns_ + 50);
  EXPECT_EQ(65536u, rate_in_force());
  rates::fall_back(&header(), start_ns_ + 60);
  EXPECT_EQ(12288u, rate_in_force());
  rates::fall_back(&header(), start_ns_ + 70);
  EXPECT_EQ(12288u, rate_in_force());
}

TEST_F(Rates, TheUsersRateEndsWhatThinningWanted) {
  rates::raise(&header(), 65536, start_ns_ + 20);
  rates::raise(&header(), 131072, start_ns_ + 30);
  rates::set(&header(), 512);
  EXPECT_EQ(512u, rate_in_force());
  rates::fall_back(&header(), start_ns_ + 40);
  EXPECT_EQ(512u, rate_in_force());
}

TEST_F(Rates, ARateIsSetWithoutTablesToo) {
  rates::set(nullptr, 777);
  EXPECT_EQ(777u, sampler_rate());
  EXPECT_EQ(4096u, header().rate_bytes.load());
}

TEST_F(Rates, TheLogHasTheTimeAndTheBytesOfEach) {
  rates::count_sample(&header().rates, 4096, 100);
  rates::follow(&header(), 8192, start_ns_ + 1000);
  rates::follow(&header(), 8192, start_ns_ + 1500);
  rates::count_sample(&header().rates, 8192, 10);
  rates::count_sample(&header().rates, 4096, 5);  // of a clock that was drawn before
  rates::follow(&header(), 4096, start_ns_ + 3000);
  rates::follow(&header(), 12288, start_ns_ + 3500);
  ASSERT_NE(nullptr, place(4096));
  EXPECT_EQ(1500u, place(4096)->time_ns.load());
  EXPECT_EQ(105u, place(4096)->weight_bytes.load());
  EXPECT_EQ(2000u, place(8192)->time_ns.load());
  EXPECT_EQ(10u, place(8192)->weight_bytes.load());
  EXPECT_EQ(0u, place(12288)->time_ns.load());
  EXPECT_EQ(start_ns_ + 3500, header().rates.since_ns.load());
}

TEST_F(Rates, EveryRateOfTheGridWithinTheBoundsHasAPlaceOfItsOwn) {
  for (uint64_t rate = 1024; rate <= 32 * 1024 * 1024; rate *= 2) {
    rates::count_sample(&header().rates, rate, rate);
    rates::count_sample(&header().rates, rate + rate / 2, rate + rate / 2);
  }
  for (uint64_t rate = 1024; rate <= 32 * 1024 * 1024; rate *= 2) {
    ASSERT_NE(nullptr, place(rate)) << rate;
    EXPECT_EQ(rate, place(rate)->weight_bytes.load());
    ASSERT_NE(nullptr, place(rate + rate / 2)) << rate;
    EXPECT_EQ(rate + rate / 2, place(rate + rate / 2)->weight_bytes.load());
  }
}

TEST_F(Rates, BytesOfRatesThatShareAPlaceAreNotLost) {
  rates::count_sample(&header().rates, 4096, 1);
  rates::count_sample(&header().rates, uint64_t{4096} << 16, 2);
  rates::count_sample(&header().rates, 0, 4);
  rates::count_sample(&header().rates, 1, 8);
  rates::count_sample(&header().rates, kMaxRateBytes, 16);
  uint64_t bytes = 0;
  for (const RatePlace& p : header().rates.uses) {
    bytes += p.weight_bytes.load();
  }
  EXPECT_EQ(31u, bytes);
}

}  // namespace
}  // namespace memprof::rates_test
