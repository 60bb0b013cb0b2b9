// SPDX-License-Identifier: Apache-2.0
#include "platform/resident.h"

#include <gtest/gtest.h>

namespace memprof::reference_resident_test {
namespace {

TEST(ReferenceResident, NothingIsKnown) {
  platform::MemoryView view;
  platform::MemoryTotals totals;
  char byte = 0;
  EXPECT_GT(0, platform::open_memory(0, &view));
  EXPECT_GT(0, platform::read_memory_totals(view, &totals));
  EXPECT_EQ(0u, platform::cpu_ns_of(view));
  EXPECT_EQ(0u, platform::read_memory_map(view, &byte, 1));
  EXPECT_EQ(0u, platform::pages_in_memory(view, platform::PagesOf::kFile, 0, 4096));
  EXPECT_FALSE(platform::read_memory_of(view, 4096, &byte, 1));
  platform::close_memory(&view);
}

}  // namespace
}  // namespace memprof::reference_resident_test
