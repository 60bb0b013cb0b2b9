// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/memory_figures.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

TEST(MemoryFigures, OfThisProcess) {
  const auto self = static_cast<uint64_t>(getpid());
  auto one = read_memory_figures({self});
  EXPECT_GT(one.at("rss_bytes"), uint64_t{1} << 20);
  EXPECT_EQ(one.count("swap_bytes"), 1u);
  EXPECT_EQ(one.count("major_faults"), 1u);
  EXPECT_EQ(one.count("pss_bytes"), 0u);
  add_proportional_size({self}, &one);
  if (one.count("pss_bytes") != 0) {  // from Linux 4.14 on, where it may be read
    EXPECT_GT(one.at("pss_bytes"), 0u);
  }
  const auto two = read_memory_figures({self, self});
  EXPECT_GT(two.at("rss_bytes"), one.at("rss_bytes") * 3 / 2);
}

TEST(MemoryFigures, WhatIsGoneHasNone) {
  EXPECT_TRUE(read_memory_figures({}).empty());
  EXPECT_TRUE(read_memory_figures({uint64_t{1} << 40}).empty());
}

}  // namespace
}  // namespace memprof::cli
