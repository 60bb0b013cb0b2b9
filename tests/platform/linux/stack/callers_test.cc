// SPDX-License-Identifier: Apache-2.0
// Who has called the hook: code that somebody knows, or not.
#include <gtest/gtest.h>

#include <cstdint>

#include "platform/stack.h"

namespace memprof::platform {
namespace {

struct Range {
  uint64_t start;
  uint64_t limit;
};

bool is_in(const void* range, uint64_t address) {
  const auto* r = static_cast<const Range*>(range);
  return r->start <= address && address < r->limit;
}

bool none(const void*, uint64_t) {
  return false;
}

// As a hook: asks about its own caller and those behind it.  `behind` more calls lie between.
[[gnu::noinline]] bool hook(const KnownCode& code, int behind) {
  bool found = behind > 0 ? hook(code, behind - 1) : may_be_called_by({__builtin_frame_address(0)}, code);
  asm volatile("" : "+r"(found));  // no tail call
  return found;
}

// Where it calls the hook is what is looked for.
[[gnu::noinline]] bool allocator(int behind) {
  const auto start = reinterpret_cast<uint64_t>(&allocator);
  const Range own{start, start + 256};
  bool found = hook({is_in, &own}, behind);
  asm volatile("" : "+r"(found));
  return found;
}

TEST(CallersTest, CodeOnTheStackIsFoundAmongTheInnermostFrames) {
  EXPECT_TRUE(allocator(0));
  EXPECT_TRUE(allocator(40));
}

TEST(CallersTest, OtherCodeIsNot) {
  const auto start = reinterpret_cast<uint64_t>(&allocator);
  const Range own{start, start + 256};
  EXPECT_FALSE(hook({is_in, &own}, 0));
  EXPECT_FALSE(hook({none, nullptr}, 3));
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
  EXPECT_FALSE(memprof_test_found(&code));
}
#endif

}  // namespace
}  // namespace memprof::platform
