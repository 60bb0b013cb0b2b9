// SPDX-License-Identifier: Apache-2.0
// The rates that a snapshot says there were.
#include <gtest/gtest.h>

#include "core/rates/rates.h"
#include "core/sampling/sampler.h"
#include "tests/support/arena.h"

namespace memprof::snapshot_rates_test {
namespace {

using testing_support::ScopedArena;
using testing_support::take;

class SnapshotRates : public ::testing::Test {
 protected:
  ~SnapshotRates() override { sampler_set_rate(kDefaultRateBytes); }
  void begin(bool is_counted) {
    sampler_set_rate(4096);
    rates::begin_log(&header(), is_counted);
  }
  ArenaHeader& header() { return arena_.arena.header(); }
  // A stack that allocated as many bytes.
  void allocate(double bytes) {
    const uint64_t frame = 0x401000;
    bool is_new = false;
    const uint32_t stack =
        arena_.stacks.intern(stack_key(&frame, 1, Walk::kRoot, 0), &frame, 1, Walk::kRoot, &is_new, 0);
    arena_.stacks.add_allocated(stack, 100, Weight{0.5, 2, bytes, 1});
  }
  ScopedArena arena_;
};

TEST_F(SnapshotRates, OneThatNeverChangedHasAllBytesAndTheTimeSoFar) {
  begin(false);
  allocate(1e6);
  const auto s = take(arena_.arena);
  ASSERT_EQ(1u, s->rates.size);
  EXPECT_EQ(4096u, s->rates.data[0].rate_bytes);
  EXPECT_EQ(1000000u, s->rates.data[0].weight_bytes);
  EXPECT_EQ(s->time_ns - s->start_ns, s->rates.data[0].time_ns);
}

// What was allocated before samples were counted by their rates was of the first one.
TEST_F(SnapshotRates, TheyAscendAndAddUp) {
  begin(false);
  allocate(1e6);
  rates::raise(&header(), 65536, header().start_ns);
  rates::count_sample(&header().rates, 65536, 3000);
  allocate(3000);
  rates::follow(&header(), 1024, header().start_ns);
  rates::fall_back(&header(), header().start_ns);
  rates::count_sample(&header().rates, 4096, 500);
  allocate(500);
  const auto s = take(arena_.arena);
  ASSERT_EQ(3u, s->rates.size);
  EXPECT_EQ(1024u, s->rates.data[0].rate_bytes);
  EXPECT_EQ(1024u, s->rate_bytes);
  EXPECT_EQ(0u, s->rates.data[0].weight_bytes);
  EXPECT_EQ(s->time_ns - s->start_ns, s->rates.data[0].time_ns);
  EXPECT_EQ(4096u, s->rates.data[1].rate_bytes);
  EXPECT_EQ(1000500u, s->rates.data[1].weight_bytes);
  EXPECT_EQ(65536u, s->rates.data[2].rate_bytes);
  EXPECT_EQ(3000u, s->rates.data[2].weight_bytes);
}

TEST_F(SnapshotRates, AnyBytesWillDo) {
  begin(true);
  allocate(1e300);
  header().rates.since_ns = UINT64_MAX;
  for (RatePlace& place : header().rates.uses) {
    place.rate_plus_one = UINT64_MAX;
    place.weight_bytes = UINT64_MAX;
    place.time_ns = UINT64_MAX;
  }
  header().rates.first_rate_bytes = UINT64_MAX - 1;
  const auto s = take(arena_.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(RateLog::kPlaces, s->rates.size);
}

TEST_F(SnapshotRates, OfVersion7ThereAreNone) {
  begin(true);
  ArenaHeader& h = header();
  h.version = 7;
  h.header_bytes = kVersion7HeaderBytes;
  h.section_count = kVersion7Sections;
  const auto s = take(arena_.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(0u, s->rates.size);
}

}  // namespace
}  // namespace memprof::snapshot_rates_test
