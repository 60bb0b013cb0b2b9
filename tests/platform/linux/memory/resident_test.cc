// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::resident_test {
namespace {

TEST(Resident, FollowsWhatIsTouched) {
  constexpr size_t kBytes = size_t{64} << 20;
  uint64_t max_before = 0;
  errno = 77;
  const uint64_t before = platform::resident_bytes(&max_before);
  EXPECT_EQ(77, errno);
  ASSERT_GT(before, 0u);
  EXPECT_GE(max_before, before);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, memory);
  memset(memory, 1, kBytes);
  uint64_t max = 0;
  // The kernel may have taken other pages back meanwhile.
  EXPECT_GT(platform::resident_bytes(&max), before + kBytes / 2);
  munmap(memory, kBytes);
  uint64_t max_after = 0;
  EXPECT_LT(platform::resident_bytes(&max_after), max_after);
  EXPECT_GE(max_after, before + kBytes / 2);
}

TEST(Resident, ASandboxIsAskedNothing) {
  platform::set_sandboxed(true);
  uint64_t max = 1;
  EXPECT_EQ(0u, platform::resident_bytes(&max));
  EXPECT_EQ(0u, max);
  platform::set_sandboxed(false);
}

}  // namespace
}  // namespace memprof::resident_test
