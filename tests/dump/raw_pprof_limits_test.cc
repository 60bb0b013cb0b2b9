// SPDX-License-Identifier: Apache-2.0
#include "dump/raw_pprof.h"

#include <gtest/gtest.h>

#include <random>

#include "format/pprof/comments.h"
#include "format/pprof/sample_writer.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/dump/raw_fixture.h"

namespace memprof::profile {
namespace {

TEST(RawPprof, an_empty_profile_is_valid) {
  RawProfile empty;
  empty.program = "true";
  empty.rate_bytes = kTestRate;
  const Profile profile = read_pprof(write_raw(empty), "raw");
  EXPECT_TRUE(profile.from_memprof);
  EXPECT_TRUE(profile.stacks.empty());
  EXPECT_EQ(profile.has_metric, (std::array<bool, kMetricCount>{true, true, true, true, true, true}));
}

TEST(RawPprof, stacks_without_samples_are_left_out) {
  RawFixture raw;
  raw.stacks[1].allocated = {};
  raw.live = {};
  raw.point();
  const Profile profile = read_pprof(write_raw(raw.profile), "raw");
  EXPECT_EQ(profile.stacks.size(), 2u);
}

TEST(RawPprof, a_stack_without_frames_keeps_its_weight) {
  RawFixture raw;
  raw.stacks[0].depth = 0;
  const Profile profile = read_pprof(write_raw(raw.profile), "raw");
  EXPECT_TRUE(profile.stacks[0].locations.empty());
  EXPECT_TRUE(profile.stacks[0].has_statistics);
  EXPECT_EQ(profile.stacks[0].allocated.samples, 100u);
}

TEST(RawPprof, many_deep_stacks_in_exactly_the_scratch_it_asks_for) {
  std::mt19937_64 random(7);
  constexpr size_t kStacks = 2000, kDepth = 100;
  std::vector<uint64_t> frames(kStacks * kDepth);
  for (size_t i = 0; i < frames.size(); ++i) {
    // The root end is shared, the leaf end is not.
    frames[i] = 1 + (i % kDepth > 50 ? i % kDepth : random() >> 16);
  }
  RawFixture raw;
  raw.live.clear();
  raw.stacks.assign(kStacks, raw.stacks[0]);
  for (size_t i = 0; i < kStacks; ++i) {
    raw.stacks[i].frames = &frames[i * kDepth];
    raw.stacks[i].depth = kDepth;
  }
  raw.point();
  const Profile profile = read_pprof(write_raw(raw.profile), "raw");
  ASSERT_EQ(profile.stacks.size(), kStacks);
  EXPECT_EQ(profile.locations.size(), kStacks * 51 + 49);
  for (size_t i = 0; i < kStacks; ++i) {
    for (size_t k = 0; k < kDepth; ++k) {
      ASSERT_EQ(profile.locations[profile.stacks[i].locations[k]].address, frames[i * kDepth + k] - 1);
    }
    ASSERT_TRUE(profile.stacks[i].has_statistics);
  }
}

TEST(RawPprof, too_little_scratch_fails) {
  const RawFixture raw;
  const size_t bytes = raw_pprof_scratch_bytes(raw.profile);
  std::vector<uint64_t> scratch(bytes / 8 + 2);
  size_t written = 0;
  const Sink sink{[](void* context, const void*, size_t size) {
                    *static_cast<size_t*>(context) += size;
                    return true;
                  },
                  &written};
  for (const size_t less : {size_t{0}, size_t{100}, bytes / 2, bytes - 5000}) {
    EXPECT_FALSE(write_raw_pprof(raw.profile, scratch.data(), less, sink)) << less;
  }
}

TEST(RawPprof, a_failing_sink_fails_and_is_not_called_again) {
  const RawFixture raw;
  std::vector<uint64_t> scratch(raw_pprof_scratch_bytes(raw.profile) / 8 + 2);
  int calls = 0;
  const Sink sink{[](void* context, const void*, size_t) {
                    ++*static_cast<int*>(context);
                    return false;
                  },
                  &calls};
  EXPECT_FALSE(write_raw_pprof(raw.profile, scratch.data(), scratch.size() * 8, sink));
  EXPECT_EQ(calls, 1);
}

TEST(RawPprof, output_comes_in_few_large_pieces) {
  RawFixture raw;
  raw.live.clear();
  for (int i = 0; i < 20000; ++i) {
    raw.add_live(0, 1000 + i, kTestRate, 1);
  }
  raw.point();
  std::vector<uint64_t> scratch(raw_pprof_scratch_bytes(raw.profile) / 8 + 2);
  std::vector<size_t> pieces;
  const Sink sink{[](void* context, const void*, size_t size) {
                    static_cast<std::vector<size_t>*>(context)->push_back(size);
                    return true;
                  },
                  &pieces};
  ASSERT_TRUE(write_raw_pprof(raw.profile, scratch.data(), scratch.size() * 8, sink));
  ASSERT_GT(pieces.size(), 3u);
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i], 65536u);
  }
}

TEST(RawPprof, live_samples_in_disorder_are_refused) {
  RawFixture raw;
  std::swap(raw.live.front(), raw.live.back());
  EXPECT_EQ(write_raw(raw.profile), "");
}

}  // namespace
}  // namespace memprof::profile
