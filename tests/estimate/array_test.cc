// SPDX-License-Identifier: Apache-2.0
#include "estimate/array.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "tests/support/engine.h"

namespace memprof::array_test {
namespace {

TEST(Array, GrowsCopiesAndMoves) {
  Array<int> a;
  EXPECT_TRUE(a.empty());
  for (int i = 0; i < 1000; ++i) a.push_back(i);
  a.push_back(a[5]);  // of itself
  ASSERT_EQ(1001u, a.size());
  EXPECT_EQ(5, a.back());
  Array<int> b = a;
  b.append(a);
  EXPECT_EQ(2002u, b.size());
  EXPECT_EQ(999, b[2000]);
  b.truncate(3);
  b = Array<int>(b);
  EXPECT_EQ(3u, b.size());
  const Array<int>& self = b;
  b = self;
  EXPECT_EQ(3u, b.size());
  Array<int> c = static_cast<Array<int>&&>(b);
  EXPECT_EQ(3u, c.size());
  EXPECT_FALSE(c.has_failed());
}

TEST(Array, WithoutMemoryItKeepsWhatItHasAndSaysSoInItsCopies) {
  if (testing_support::kSanitized) {
    GTEST_SKIP() << "a sanitizer's realloc ends the program";
  }
  Array<uint64_t> a;
  a.push_back(7);
  EXPECT_FALSE(a.reserve(SIZE_MAX / 64));
  EXPECT_TRUE(a.has_failed());
  EXPECT_EQ(7u, a.front());
  Array<uint64_t> copy = a;
  EXPECT_TRUE(copy.has_failed());
  Array<uint64_t> sum;
  sum.append(a);
  EXPECT_TRUE(sum.has_failed());
  EXPECT_EQ(1u, sum.size());
}

}  // namespace
}  // namespace memprof::array_test
