// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/callback_stub.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace memprof::callback_stub_test {
namespace {

size_t bytes_of(std::initializer_list<uint8_t> code) {
  uint8_t bytes[16];
  memset(bytes, 0x90, sizeof(bytes));
  std::copy(code.begin(), code.end(), bytes);
  return platform::bytes_of_empty(bytes);
}

TEST(CallbackStub, AFunctionThatOnlyReturnsIsEmpty) {
  EXPECT_EQ(1u, bytes_of({0xc3}));
  EXPECT_EQ(2u, bytes_of({0xf3, 0xc3}));                    // rep ret
  EXPECT_EQ(5u, bytes_of({0xf3, 0x0f, 0x1e, 0xfa, 0xc3}));  // behind an endbr64
  EXPECT_EQ(6u, bytes_of({0xf3, 0x0f, 0x1e, 0xfa, 0xf3, 0xc3}));
  EXPECT_EQ(0u, bytes_of({0x90, 0xc3}));
  EXPECT_EQ(0u, bytes_of({0xf3, 0x0f, 0x1e, 0xfa, 0x90}));
}

TEST(CallbackStub, EndsInTheAddressOfTheGate) {
  uint8_t code[platform::kCallbackStubBytes + 1];
  memset(code, 0xcc, sizeof(code));
  constexpr uint64_t kGate = 0x1122334455667788;
  platform::write_callback_stub(code, [] {}, kGate);
  size_t end = sizeof(code);
  while (end != 0 && code[end - 1] == 0xcc) {
    --end;
  }
  ASSERT_LE(end, platform::kCallbackStubBytes);
  ASSERT_GE(end, sizeof(kGate));
  EXPECT_EQ(0, memcmp(code + end - sizeof(kGate), &kGate, sizeof(kGate)));
}

}  // namespace
}  // namespace memprof::callback_stub_test
