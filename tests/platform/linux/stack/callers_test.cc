// SPDX-License-Identifier: Apache-2.0
// Who has called the hook: code that somebody knows, or not.
#include <gtest/gtest.h>

#include <cstdint>

#include "platform/stack.h"

namespace memprof::platform {
namespace {

// Where the allocator below has called the hook.
uint64_t g_call;

// What is_called_by() said the last time.
bool g_is_certain;

bool is_the_call(const void*, uint64_t address) {
  return address == g_call - 1;
}

bool none(const void*, uint64_t) {
  return false;
}

// As a hook: asks about its own caller and those behind it.  `behind` more calls lie between.
[[gnu::noinline]] bool hook(const KnownCode& code, int behind) {
  const Entry entry{__builtin_frame_address(0)};
  bool found = behind > 0 ? hook(code, behind - 1) : may_be_called_by(entry, code);
  g_is_certain = behind > 0 ? g_is_certain : is_called_by(entry, code);
  asm volatile("" : "+r"(found));  // no tail call
  return found;
}

[[gnu::noinline]] bool first_hook(int behind) {
  g_call = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  bool found = hook({is_the_call, nullptr}, behind);
  asm volatile("" : "+r"(found));
  return found;
}

[[gnu::noinline]] bool allocator(int behind) {
  bool found = first_hook(behind);
  asm volatile("" : "+r"(found));
  return found;
}

TEST(CallersTest, CodeOnTheStackIsFoundAmongTheInnermostFrames) {
  EXPECT_TRUE(allocator(0));
  EXPECT_TRUE(g_is_certain);
  EXPECT_TRUE(allocator(40));
  EXPECT_TRUE(g_is_certain);
}

TEST(CallersTest, OtherCodeIsNot) {
  EXPECT_TRUE(allocator(0));
  EXPECT_FALSE(hook({is_the_call, nullptr}, 0)) << "it has returned";
  EXPECT_FALSE(hook({none, nullptr}, 3));
  EXPECT_FALSE(g_is_certain);
}

#if defined(__x86_64__)
// A function that no table describes, and that uses the frame pointer for something else.
extern "C" bool memprof_test_lost(const KnownCode* code);
extern "C" bool memprof_test_found(const KnownCode* code) {
  return hook(*code, 0);
}
asm(R"(
  .text
memprof_test_lost:
  push %rbp
  mov $8, %ebp
  call memprof_test_found
  pop %rbp
  ret
)");

TEST(CallersTest, BehindAFrameThatIsNotUnderstoodMayBeAnybody) {
  const KnownCode code{none, nullptr};
  EXPECT_TRUE(memprof_test_lost(&code));
  EXPECT_FALSE(g_is_certain) << "nor is anybody known to be there";
  EXPECT_FALSE(memprof_test_found(&code));
}
#endif

}  // namespace
}  // namespace memprof::platform
