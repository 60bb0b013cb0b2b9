// SPDX-License-Identifier: Apache-2.0
#include "dump/stack_parts.h"

#include <gtest/gtest.h>

#include <vector>

namespace memprof::stack_parts_test {
namespace {

// Records of stacks, ordered by them, and how much of each is in memory; negative: not looked at.
struct Blocks {
  std::vector<SnapshotRecord> records;
  std::vector<float> shares;
  std::vector<SnapshotMapping> mappings;

  void add(uint32_t stack, uint64_t size_bytes, double blocks, float share, uint64_t time_ns = 0) {
    SnapshotRecord r{};
    r.size_bytes = size_bytes;
    r.weight_count = blocks;
    r.weight_bytes = blocks * static_cast<double>(size_bytes);
    r.stack_id = stack;
    r.time_ns = time_ns;
    records.push_back(r);
    shares.push_back(share);
  }

  // A snapshot is not copied.
  struct Made : Snapshot {
    explicit Made(Blocks* blocks) {
      records = {blocks->records.data(), blocks->records.size()};
      resident_shares = {blocks->shares.data(), blocks->shares.size()};
      mappings = {blocks->mappings.data(), blocks->mappings.size()};
      resident.total_bytes = 1;
    }
  };
  Made snapshot() { return Made(this); }
};

TEST(StackParts, WhatIsInMemoryIsSummedByStack) {
  Blocks blocks;
  blocks.add(0, 4096, 2, 1);
  blocks.add(0, 8192, 1, 0);
  blocks.add(2, 8192, 1, 0.5F);
  const auto s = blocks.snapshot();
  profile::RawStack stacks[3];
  ASSERT_TRUE(convert_resident(s, stacks));
  EXPECT_EQ(8192, stacks[0].resident_bytes);
  EXPECT_EQ(2, stacks[0].resident_count);
  EXPECT_EQ(0, stacks[1].resident_bytes);
  EXPECT_EQ(4096, stacks[2].resident_bytes);
  EXPECT_EQ(1, stacks[2].resident_count);
}

TEST(StackParts, WhatWasNotLookedAtIsAsTheOthers) {
  Blocks blocks;
  blocks.add(0, 1000, 1, 0.25F);
  blocks.add(0, 1000, 3, -1);  // as those of its stack
  blocks.add(1, 1000, 1, 0.75F);
  blocks.add(2, 1000, 4, -1);  // as all
  const auto s = blocks.snapshot();
  profile::RawStack stacks[3];
  ASSERT_TRUE(convert_resident(s, stacks));
  EXPECT_DOUBLE_EQ(1000, stacks[0].resident_bytes);
  EXPECT_DOUBLE_EQ(4, stacks[0].resident_count);
  EXPECT_DOUBLE_EQ(2000, stacks[2].resident_bytes);
}

TEST(StackParts, NothingIsSaidWhereNobodyLooked) {
  Blocks blocks;
  blocks.add(0, 1000, 1, -1);
  profile::RawStack stacks[1];
  EXPECT_FALSE(convert_resident(blocks.snapshot(), stacks));
  EXPECT_EQ(0, stacks[0].resident_bytes);
  blocks.shares[0] = 1;
  auto s = blocks.snapshot();
  s.resident = {};  // the rest is not known
  EXPECT_FALSE(convert_resident(s, stacks));
  auto unknown = blocks.snapshot();
  unknown.resident_shares = {};
  EXPECT_FALSE(convert_resident(unknown, stacks));
  Blocks none;
  EXPECT_TRUE(convert_resident(none.snapshot(), stacks));  // nothing lives
}

TEST(StackParts, BirthsAreSixteenthsOfTheRun) {
  Blocks blocks;
  blocks.add(0, 100, 1, -1, 0);
  blocks.add(0, 100, 2, -1, 1599);
  blocks.add(1, 100, 1, -1, 800);
  auto s = blocks.snapshot();
  s.start_ns = 0;
  s.time_ns = 1600;
  Birth births[3];
  profile::RawStack stacks[2];
  convert_births(s, births, stacks);
  ASSERT_EQ(2u, stacks[0].births.count);
  EXPECT_EQ(0u, stacks[0].births.first[0].part);
  EXPECT_EQ(15u, stacks[0].births.first[1].part);
  EXPECT_EQ(2, stacks[0].births.first[1].weight_count);
  ASSERT_EQ(1u, stacks[1].births.count);
  EXPECT_EQ(8u, stacks[1].births.first[0].part);
}

// Forty steps in the first 40 us, and nothing for 400 us: by load, what lives is spread over all of it.
TEST(StackParts, BirthsByLoadStandStillWhileTheProcessIsIdle) {
  Blocks blocks;
  blocks.add(0, 100, 1, -1, 1'000);
  blocks.add(0, 100, 1, -1, 21'000);
  blocks.add(1, 100, 1, -1, 39'500);
  auto s = blocks.snapshot();
  s.start_ns = 0;
  s.time_ns = 440'000;
  s.load.step_bytes = 1000;
  s.load.bytes = 40'000;
  s.load.count = 40;
  s.load.end_ns = 440'000;
  s.load.rate_bytes = 1;
  for (uint32_t i = 0; i < 40; ++i) s.load.at_ns[i] = 1000.0F * static_cast<float>(i + 1);
  Birth births[3];
  profile::RawStack stacks[2];
  const LoadTimes times = convert_load_births(s, births, stacks);
  ASSERT_TRUE(times.is_known());
  EXPECT_NEAR(39'700, static_cast<double>(times.bytes), 1);
  EXPECT_NEAR(40'000, static_cast<double>(times.end_ns()), 1100);
  ASSERT_EQ(2u, stacks[0].load_births.count);
  EXPECT_EQ(0u, stacks[0].load_births.first[0].part);
  EXPECT_EQ(8u, stacks[0].load_births.first[1].part);
  ASSERT_EQ(1u, stacks[1].load_births.count);
  EXPECT_EQ(15u, stacks[1].load_births.first[0].part);
  EXPECT_EQ(100, stacks[1].load_births.first[0].weight_bytes);
  EXPECT_EQ(0u, stacks[0].births.count);
  // A process that is busy all the time needs none.
  s.load.end_ns = s.time_ns = 40'000;
  profile::RawStack evenly[2];
  EXPECT_FALSE(convert_load_births(s, births, evenly).is_known());
  EXPECT_EQ(0u, evenly[0].load_births.count);
}

TEST(StackParts, MappingsCountAsTheyAre) {
  Blocks blocks;
  SnapshotMapping m{};
  m.start = 4096;
  m.limit = 12288;
  m.resident_bytes = 4096;
  blocks.mappings = {m, m};
  blocks.mappings[1].resident_bytes = 0;
  profile::RawStack stacks[1];
  auto snapshot = blocks.snapshot();
  convert_mappings(snapshot, stacks);
  EXPECT_EQ(0, stacks[0].mapped[0]) << "they are not to be shown";
  snapshot.has_mappings = true;
  convert_mappings(snapshot, stacks);
  EXPECT_EQ(2, stacks[0].mapped[0]);
  EXPECT_EQ(16384, stacks[0].mapped[1]);
  EXPECT_EQ(1, stacks[0].mapped[2]);
  EXPECT_EQ(4096, stacks[0].mapped[3]);
}

}  // namespace
}  // namespace memprof::stack_parts_test
