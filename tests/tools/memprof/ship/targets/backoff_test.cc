// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/backoff.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(Backoff, DoublesWithinItsBoundsAndBeginsAnew) {
  Backoff backoff(1);
  double most = Backoff::kFirstSeconds;
  for (int i = 0; i < 30; ++i) {
    const double wait = backoff.next({});
    EXPECT_GE(wait, most / 2);
    EXPECT_LE(wait, most);
    most = std::min(2 * most, Backoff::kMaxSeconds);
  }
  backoff.succeeded();
  EXPECT_LE(backoff.next({}), Backoff::kFirstSeconds);
}

TEST(Backoff, IsNeverShorterThanTheServerAsks) {
  Backoff backoff(1);
  EXPECT_EQ(backoff.next(60.0), 60);
  EXPECT_EQ(backoff.next(1e9), Backoff::kMaxAskedSeconds);
  EXPECT_GE(backoff.next(0.001), 2) << "nor than its own";
}

}  // namespace
}  // namespace memprof::cli
