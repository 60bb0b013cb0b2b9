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

TEST(ProcessIds, Numbers) {
  uint64_t pid = 0;
  EXPECT_TRUE(parse_pid("12", &pid));
  EXPECT_EQ(pid, 12u);
  for (const char* text : {"", "0", "-1", "1x", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_pid(text, &pid)) << text;
  }
}

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
