// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/oom_victims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OomVictims, AreTheLargestAsManyAsThereWereKills) {
  const std::vector<EndedProcess> ended = {{0, 12, 100}, {1, 13, 300}, {2, 9, 100}};
  EXPECT_THAT(oom_victims(ended, 0), IsEmpty());
  EXPECT_THAT(oom_victims(ended, 1), ElementsAre(1));
  EXPECT_THAT(oom_victims(ended, 2), ElementsAre(1, 2))
      << "of two that are as large the one that began first";
  EXPECT_THAT(oom_victims(ended, 9), ElementsAre(1, 2, 0)) << "the others were processes that nobody saw";
}

}  // namespace
}  // namespace memprof::cli
