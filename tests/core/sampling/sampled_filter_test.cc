// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/sampled_filter.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/engine.h"

namespace memprof::sampled_filter_test {
namespace {

using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;

const void* pointer(uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}

// All zeros is a valid filter.
std::unique_ptr<SampledFilter> make_filter() {
  return std::unique_ptr<SampledFilter>(new SampledFilter());
}

uint64_t marked_slots(const SampledFilter& filter) {
  const auto* bytes = static_cast<const std::atomic<uint8_t>*>(filter.memory());
  uint64_t marked = 0;
  for (size_t i = 0; i < SampledFilter::memory_bytes(); ++i) {
    marked += bytes[i].load(std::memory_order_relaxed) != 0;
  }
  return marked;
}

TEST(SampledFilter, AnEmptyOneContainsNothing) {
  const auto filter = make_filter();
  for (const uintptr_t address :
       {uintptr_t{0}, uintptr_t{16}, uintptr_t{0x7fffdeadbeef}, uintptr_t{UINTPTR_MAX}}) {
    EXPECT_FALSE(filter->may_contain(pointer(address)));
  }
}

TEST(SampledFilter, MarksAKibibyteAndForgets) {
  const auto filter = make_filter();
  EXPECT_FALSE(filter->mark(0x7f0012345678));
  EXPECT_TRUE(filter->may_contain(pointer(0x7f0012345678)));
  EXPECT_TRUE(filter->may_contain(pointer(0x7f0012345400)));
  EXPECT_TRUE(filter->may_contain(pointer(0x7f00123457ff)));
  EXPECT_FALSE(filter->may_contain(pointer(0x7f00123453ff)));
  EXPECT_FALSE(filter->may_contain(pointer(0x7f0012345800)));
  filter->unmark(0x7f0012345678);
  EXPECT_EQ(0u, marked_slots(*filter));
}

TEST(SampledFilter, CountsSamplesThatShareASlot) {
  const auto filter = make_filter();
  filter->mark(0x1000);
  filter->mark(0x1010);
  filter->mark(uintptr_t{0x1000} + (uintptr_t{1} << 32));  // 4 GiB further: the same slot
  filter->unmark(0x1000);
  filter->unmark(0x1010);
  EXPECT_TRUE(filter->may_contain(pointer(0x1000)));
  filter->unmark(uintptr_t{0x1000} + (uintptr_t{1} << 32));
  EXPECT_FALSE(filter->may_contain(pointer(0x1000)));
}

TEST(SampledFilter, KnowsThePlaceOfAnOnlySample) {
  const auto filter = make_filter();
  filter->mark(0x1230);
  for (uintptr_t address = 0x1000; address < 0x1400; ++address) {
    ASSERT_EQ(address / 16 == 0x123, filter->may_be(pointer(address))) << std::hex << address;
  }
  filter->unmark(0x1240);  // not that one
  EXPECT_TRUE(filter->may_be(pointer(0x1230)));
  filter->mark(0x1240);  // two: anywhere
  EXPECT_TRUE(filter->may_be(pointer(0x1000)));
  filter->unmark(0x1230);  // one: anywhere
  EXPECT_TRUE(filter->may_be(pointer(0x1240)));
  EXPECT_TRUE(filter->may_be(pointer(0x1000)));
  filter->unmark(0x1240);
  EXPECT_EQ(0u, marked_slots(*filter));
  filter->mark(0x13f0);
  EXPECT_TRUE(filter->may_be(pointer(0x13f0)));
  EXPECT_FALSE(filter->may_be(pointer(0x1230)));
}

TEST(SampledFilter, SaturationIsToldOnceAndSticks) {
  const auto filter = make_filter();
  for (int i = 1; i < 255 - 64; ++i) {
    ASSERT_FALSE(filter->mark(0x5000)) << i;
  }
  EXPECT_TRUE(filter->mark(0x5000));   // the 191st
  EXPECT_FALSE(filter->mark(0x5000));  // it was told already
  for (int i = 0; i < 1000; ++i) {
    filter->unmark(0x5000);
  }
  EXPECT_TRUE(filter->may_contain(pointer(0x5000)));
  EXPECT_FALSE(filter->may_contain(pointer(0x5400)));
}

TEST(SampledFilter, UnmarkOfWhatIsNotMarkedDoesNothing) {
  const auto filter = make_filter();
  filter->unmark(0x5000);
  EXPECT_FALSE(filter->may_contain(pointer(0x5000)));
  filter->mark(0x5000);
  EXPECT_TRUE(filter->may_contain(pointer(0x5000)));
}

TEST(SampledFilter, PermanentMarksCoverTheWholeRange) {
  const auto filter = make_filter();
  filter->mark_permanently(0x12345, 5000);  // 0x12345 to 0x136cc
  for (uintptr_t address = 0x12345; address < 0x12345 + 5000; address += 16) {
    ASSERT_TRUE(filter->may_be(pointer(address))) << std::hex << address;
    filter->unmark(address);
    ASSERT_TRUE(filter->may_contain(pointer(address))) << std::hex << address;
  }
  EXPECT_FALSE(filter->may_contain(pointer(0x11fff)));
  EXPECT_FALSE(filter->may_contain(pointer(0x13800)));
}

// The slots are as many as the memory that gives them: an address of a slot never writes outside.
TEST(SampledFilter, EverySlotCanBeReached) {
  const auto filter = make_filter();
  for (uintptr_t i = 0; i < SampledFilter::kSlots; ++i) {
    filter->mark(i << SampledFilter::kGranuleBits);
  }
  EXPECT_EQ(SampledFilter::kSlots, marked_slots(*filter));
}

TEST(SampledFilter, NoFalseNegativeUnderEightRacingThreads) {
  const auto filter = make_filter();
  constexpr int kHeld = 100;  // 8 x 100 marks on 64 slots: far below saturation, far from private
  std::atomic<uint64_t> missed{0};
  run_threads(8, [&](int thread) {
    Random random(static_cast<uint64_t>(thread));
    std::vector<uintptr_t> held;
    for (uint64_t i = 0; i < scaled(2000000); ++i) {
      if (held.size() < kHeld && random.below(2) == 0) {
        const uintptr_t address = 0x7f0000000000 + random.below(64 * 1024);
        filter->mark(address);
        held.push_back(address);
      } else if (!held.empty()) {
        const size_t which = random.below(held.size());
        missed += !filter->may_be(pointer(held[which]));
        filter->unmark(held[which]);
        held[which] = held.back();
        held.pop_back();
      }
    }
    for (const uintptr_t address : held) {
      missed += !filter->may_be(pointer(address));
      filter->unmark(address);
    }
  });
  EXPECT_EQ(0u, missed.load());
  EXPECT_EQ(0u, marked_slots(*filter));  // and all was forgotten
}

TEST(SampledFilter, SaturationUnderRacingThreadsIsToldOnce) {
  const auto filter = make_filter();
  std::atomic<int> told{0};
  run_threads(8, [&](int) {
    for (int i = 0; i < 1000; ++i) {
      told += filter->mark(0x9000);
    }
  });
  EXPECT_EQ(1, told.load());
}

TEST(SampledFilter, CandidatesAreWhereASampleCanBegin) {
  const auto filter = std::make_unique<SampledFilter>();
  const uint64_t granule = 0x7f0000012400;
  EXPECT_EQ(0u, filter->candidates(granule).count);
  filter->mark(granule + 37);
  for (const uint64_t asked : {granule, granule + 37, granule + 1023}) {
    const SampledFilter::Candidates c = filter->candidates(asked);
    EXPECT_EQ(granule + 32, c.first);
    EXPECT_EQ(16u, c.count);
  }
  filter->mark(granule + 1000);
  EXPECT_EQ(granule, filter->candidates(granule + 5).first);
  EXPECT_EQ(1024u, filter->candidates(granule + 5).count);
  EXPECT_EQ(granule + 1024, SampledFilter::next_granule(granule));
  EXPECT_EQ(granule + 1024, SampledFilter::next_granule(granule + 1023));
}

}  // namespace
}  // namespace memprof::sampled_filter_test
