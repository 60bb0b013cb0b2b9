// SPDX-License-Identifier: Apache-2.0
// Of processes in namespaces of their own: tests/e2e/container_test.py.
#include "memprof/host/process/process_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

using ::testing::Contains;
using ::testing::Not;

TEST(ProcessIds, OfThisProcess) {
  const auto self = static_cast<uint64_t>(getpid());
  EXPECT_THAT(all_processes(), Contains(self));
  EXPECT_NE(own_namespace(), 0u);
  EXPECT_EQ(namespace_of(self), own_namespace());
  EXPECT_EQ(pid_inside(self), self);
}

TEST(ProcessIds, OfNone) {
  constexpr uint64_t kNobody = 2147483647;
  EXPECT_THAT(all_processes(), Not(Contains(kNobody)));
  EXPECT_EQ(namespace_of(kNobody), 0u);
  EXPECT_EQ(pid_inside(kNobody), kNobody);
}

}  // namespace
}  // namespace memprof::cli
