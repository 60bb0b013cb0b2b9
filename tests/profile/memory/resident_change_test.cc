// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/resident_change.h"

#include <gtest/gtest.h>

namespace memprof::profile::resident_change_test {
namespace {

constexpr uint64_t kMiB = 1 << 20;

ResidentMemory memory(uint64_t live_mib, uint64_t free_mib) {
  ResidentMemory m;
  m.live_bytes = live_mib * kMiB;
  m.free_bytes = free_mib * kMiB;
  m.heap_bytes = m.live_bytes + m.free_bytes;
  m.files_bytes = 10 * kMiB;
  m.total_bytes = m.heap_bytes + m.files_bytes;
  return m;
}

TEST(ResidentChange, ByParts) {
  EXPECT_EQ(
      "50.0 MiB to 70.0 MiB: +20.0 MiB (heap -6.0 MiB, kept free +26.0 MiB); fragmentation 10 % to 50 %",
      resident_change_text(memory(36, 4), 0, memory(30, 30), 0));
  EXPECT_EQ("50.0 MiB to 50.0 MiB: 0 B; fragmentation 10 % to 10 %",
            resident_change_text(memory(36, 4), 0, memory(36, 4), 0));
}

TEST(ResidentChange, WhatIsNotExplainedHasItsPlace) {
  ResidentMemory after = memory(36, 4);
  after.total_bytes += 8 * kMiB;
  after.anonymous_bytes = 8 * kMiB;
  EXPECT_EQ("50.0 MiB to 58.0 MiB: +8.0 MiB (not explained +8.0 MiB); fragmentation 10 % to 10 %",
            resident_change_text(memory(36, 4), 0, after, 0));
}

TEST(ResidentChange, PartsThatTheTimeDidNotReachAreNotCompared) {
  ResidentMemory cut = memory(36, 4);
  cut.state |= kResidentHeapCut;
  cut.heap_bytes = 0;
  EXPECT_EQ("50.0 MiB to 70.0 MiB: +20.0 MiB; its parts are not known: the time for them ran out",
            resident_change_text(cut, 0, memory(30, 30), 0));
}

TEST(ResidentChange, OfKilledProcessesTheMost) {
  EXPECT_EQ("at most 50.0 MiB to 60.0 MiB: +10.0 MiB",
            resident_change_text({}, 50 * kMiB, memory(36, 4), 60 * kMiB));
  EXPECT_EQ("", resident_change_text({}, 0, memory(36, 4), 60 * kMiB));
}

}  // namespace
}  // namespace memprof::profile::resident_change_test
