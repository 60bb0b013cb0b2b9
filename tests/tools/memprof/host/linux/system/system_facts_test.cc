// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/system_facts.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace memprof::cli {
namespace {

TEST(SystemFacts, Names) {
  EXPECT_EQ(kernel_name().rfind("Linux ", 0), 0u);
  EXPECT_EQ(c_library_version().rfind("2.", 0), 0u);
}

TEST(SystemFacts, CallsAreTried) {
  EXPECT_TRUE(try_kernel_calls().maps);
}

TEST(SystemFacts, LimitsAreThoseInForce) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit lower{rlim_t{1} << 30, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &lower), 0);
  EXPECT_EQ(file_size_limit(), uint64_t{1} << 30);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(file_size_limit(), before.rlim_cur == RLIM_INFINITY ? UINT64_MAX : before.rlim_cur);
  EXPECT_GT(address_space_limit(), 0u);
}

}  // namespace
}  // namespace memprof::cli
