// SPDX-License-Identifier: Apache-2.0
// The program as it was built.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(Main, PassesItsArgumentsAndItsStatus) {
  EXPECT_EQ(testing_tools::memprof({"--version"}).out, "memprof " MEMPROF_VERSION "\n");
  EXPECT_EQ(testing_tools::memprof({}).status, 0);
  EXPECT_EQ(testing_tools::memprof({"wat"}).status, 2);
}

}  // namespace
}  // namespace memprof::cli
