// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/call_site.h"

#include <gtest/gtest.h>

#include <vector>

namespace memprof::call_site_test {
namespace {

// What a compiler made of calls in this very program.
uint64_t g_return_addresses[4];

__attribute__((noinline)) void note_return_address(int which) {
  g_return_addresses[which] = reinterpret_cast<uint64_t>(__builtin_return_address(0));
}

TEST(FollowsCall, RealReturnAddressesFollowACall) {
  void (*volatile pointer)(int) = note_return_address;
  void (*volatile table[4])(int) = {nullptr, nullptr, nullptr, note_return_address};
  volatile int three = 3;
  note_return_address(0);
  pointer(1);
  table[three](2);
  std::vector<void (*)(int)> functions(4, note_return_address);
  functions[static_cast<size_t>(three)](3);
  for (const uint64_t address : g_return_addresses) {
    ASSERT_NE(0u, address);
    EXPECT_TRUE(unwind::follows_call(reinterpret_cast<const uint8_t*>(address)));
  }
}

}  // namespace
}  // namespace memprof::call_site_test
