// SPDX-License-Identifier: Apache-2.0
#include "core/arena/live_record.h"

#include <gtest/gtest.h>

namespace memprof {
namespace {

LiveSample full_sample() {
  LiveSample sample{{0x7f0011223340, uint64_t{1} << 40, (uint64_t{1} << RateWord::kBits) - 2,
                     (uint64_t{1} << 62) + 1, 0xfffffffe, (uint32_t{1} << ResidentShare::kThreadBits) - 1}};
  sample.resident = ResidentShare::kMax;
  return sample;
}

LiveSample loaded(const LiveRecord& record, uint64_t address) {
  return record.load(address, record.stack.load(), record.rate.load());
}

TEST(LiveRecord, HoldsEachFieldOfASample) {
  const LiveSample sample = full_sample();
  LiveRecord record{};
  record.store(sample);
  const LiveSample read = loaded(record, sample.address);
  EXPECT_EQ(sample.address, read.address);
  EXPECT_EQ(sample.size_bytes, read.size_bytes);
  EXPECT_EQ(sample.rate_bytes, read.rate_bytes);
  EXPECT_EQ(sample.time_ns, read.time_ns);
  EXPECT_EQ(sample.stack_id, read.stack_id);
  EXPECT_EQ(sample.thread_id, read.thread_id);
  EXPECT_EQ(sample.resident, read.resident);
  EXPECT_FALSE(read.is_moving);
  record.time_ns.store(record.time_ns.load() | TimeWord::kMovingBit);
  EXPECT_TRUE(loaded(record, sample.address).is_moving);
  EXPECT_EQ(sample.time_ns, loaded(record, sample.address).time_ns);
}

TEST(LiveRecord, EachStoreIsAnotherInsertion) {
  LiveRecord first{};
  LiveRecord second{};
  first.store(full_sample());
  second.store(full_sample());
  EXPECT_EQ(1, first.generation());
  EXPECT_TRUE(LiveRecord::are_of_one(first, second));
  second.store(full_sample());
  EXPECT_EQ(2, second.generation());
  EXPECT_FALSE(LiveRecord::are_of_one(first, second));
  first.store(full_sample());
  EXPECT_TRUE(LiveRecord::are_of_one(first, second));
  first.thread_id.store(ResidentShare::word(full_sample().thread_id, ResidentShare::kUnknown));
  first.rate.store(RateWord::word(2, 512));
  EXPECT_TRUE(LiveRecord::are_of_one(first, second)) << "these change while it lives";
  first.size_bytes.store(1);
  EXPECT_FALSE(LiveRecord::are_of_one(first, second));
}

TEST(LiveRecord, SharesAreRightToAThousandth) {
  EXPECT_LT(ResidentShare::share(ResidentShare::code(-1)), 0);
  EXPECT_EQ(0, ResidentShare::share(ResidentShare::code(0)));
  EXPECT_EQ(1, ResidentShare::share(ResidentShare::code(1)));
  EXPECT_EQ(1, ResidentShare::share(ResidentShare::code(7)));
  EXPECT_GT(ResidentShare::share(ResidentShare::code(1e-6F)), 0);
  for (int i = 1; i <= 10000; ++i) {
    const float share = static_cast<float>(i) / 10000;
    EXPECT_NEAR(share, ResidentShare::share(ResidentShare::code(share)), 0.001F);
  }
  EXPECT_LT(ResidentShare::share(UINT32_MAX), 0);  // garbage
}

}  // namespace
}  // namespace memprof
