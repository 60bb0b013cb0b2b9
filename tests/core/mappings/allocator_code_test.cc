// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/allocator_code.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "tests/support/engine.h"

namespace memprof::mappings {
namespace {

using testing_support::run_threads;
using testing_support::scaled;

TEST(AllocatorCode, FunctionsAreFoundFromTheirStartToTheirEnd) {
  auto code = std::make_unique<AllocatorCode>();
  EXPECT_TRUE(code->is_empty());
  code->add(0x1000, 0x1100);
  code->add(0x2000, 0x2010);
  EXPECT_FALSE(code->is_empty());
  for (const uint64_t address : {0x1000, 0x10ff, 0x2000, 0x200f})
    EXPECT_TRUE(code->contains(address)) << address;
  for (const uint64_t address : {0x0, 0x1, 0xfff, 0x1100, 0x2010})
    EXPECT_FALSE(code->contains(address)) << address;
}

TEST(AllocatorCode, WhatIsRemovedIsGone) {
  auto code = std::make_unique<AllocatorCode>();
  code->add(0x1000, 0x1100);
  code->add(0x2000, 0x2010);
  code->remove(0x1000);
  code->remove(0x3000);
  EXPECT_FALSE(code->contains(0x1000));
  EXPECT_TRUE(code->contains(0x2000));
}

TEST(AllocatorCode, RoomIsUsedAgainAndMoreThanThatIsLeftOut) {
  auto code = std::make_unique<AllocatorCode>();
  const auto start = [](uint64_t i) { return 0x10000 + 0x100 * i; };
  for (uint64_t i = 0; i < AllocatorCode::kMax + 5; ++i) code->add(start(i), start(i) + 1);
  EXPECT_TRUE(code->contains(start(AllocatorCode::kMax - 1)));
  EXPECT_FALSE(code->contains(start(AllocatorCode::kMax)));
  code->remove(start(7));
  code->add(0x1000, 0x1100);
  EXPECT_TRUE(code->contains(0x1000));
  EXPECT_FALSE(code->contains(start(7)));
}

TEST(AllocatorCode, ThreadsThatAddAndRemoveDisturbNobody) {
  auto code = std::make_unique<AllocatorCode>();
  code->add(0x1000, 0x1100);
  std::atomic<int> missed{0};
  run_threads(4, [&](int thread) {
    const uint64_t start = 0x100000 + 0x1000 * static_cast<uint64_t>(thread);
    for (uint64_t i = 0; i < scaled(2000); ++i) {
      code->add(start, start + 0x10);
      missed += !code->contains(start) || !code->contains(0x10ff);
      code->remove(start);
      missed += code->contains(start);
    }
  });
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace memprof::mappings
