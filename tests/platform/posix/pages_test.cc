// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "platform/memory.h"
#include "tests/support/engine.h"

namespace memprof::posix_pages_test {
namespace {

TEST(PosixPages, AreZeroAndSparse) {
  constexpr size_t kLarge = size_t{1} << (testing_support::kSanitized ? 28 : 34);
  auto* p = static_cast<uint8_t*>(platform::reserve_pages(kLarge));
  ASSERT_NE(nullptr, p);
  EXPECT_EQ(0, p[kLarge / 2]);
  p[kLarge - 1] = 1;
  platform::release_pages(p, kLarge);
  EXPECT_EQ(nullptr, platform::reserve_pages(0));
}

}  // namespace
}  // namespace memprof::posix_pages_test
