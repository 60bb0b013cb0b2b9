// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/free_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::cli {
namespace {

TEST(FreeMemory, WhatIsInUseStays) {
  std::vector<std::string> kept;
  for (int i = 0; i < 1000; ++i) kept.emplace_back(100 + i, 'x');
  kept.resize(500);
  give_back_free_memory();
  for (size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i], std::string(100 + i, 'x'));
}

}  // namespace
}  // namespace memprof::cli
