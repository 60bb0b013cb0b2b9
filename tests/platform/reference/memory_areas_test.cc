// SPDX-License-Identifier: Apache-2.0
#include "platform/memory_areas.h"

#include <gtest/gtest.h>

namespace memprof::reference_memory_areas_test {
namespace {

TEST(ReferenceMemoryAreas, NothingIsKnown) {
  EXPECT_FALSE(platform::each_memory_area([](const platform::MemoryArea&, void*) { FAIL(); }, nullptr));
  uint64_t end = 0;
  EXPECT_EQ(MemoryPart::kUnseen, platform::holder_of({}, 4096, 8192, &end));
  EXPECT_EQ(8192u, end);
  EXPECT_EQ(0u, platform::resident_bytes_in(4096, 8192));
  EXPECT_FALSE(platform::counts_without_areas());
  EXPECT_EQ(4096u, platform::page_bytes());
}

}  // namespace
}  // namespace memprof::reference_memory_areas_test
