// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/call_site.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <vector>

#include "tests/support/engine.h"

namespace memprof::call_site_test {
namespace {

using testing_support::GuardedMemory;

// ---- Call instructions, as assemblers write them

TEST(FollowsCall, KnowsEveryFormOfCall) {
  for (const uint32_t instruction : {0x94000000u, 0x97ffffffu,     // bl
                                     0xd63f0000u, 0xd63f03c0u,     // blr x0, blr x30
                                     0xd63f081fu, 0xd63f0fdfu,     // blraaz x0, blrabz x30
                                     0xd73f0800u, 0xd73f0fffu}) {  // blraa x0, x0, blrab x31, sp
    uint8_t code[8] = {};
    memcpy(code + 4, &instruction, 4);
    EXPECT_TRUE(unwind::follows_call(code + 8)) << std::hex << instruction;
  }
  for (const uint32_t instruction :
       {0xd503201fu, 0x14000001u, 0xd61f0000u, 0xd65f03c0u, 0xd65f0bffu, 0x54000000u}) {
    uint8_t code[8] = {};  // nop, b, br, ret, retaa, b.eq
    memcpy(code + 4, &instruction, 4);
    EXPECT_FALSE(unwind::follows_call(code + 8)) << std::hex << instruction;
  }
}

TEST(CallTarget, IsThatOfACallByDistance) {
  const uint32_t back = 0x97ffffff;  // bl -4
  uint8_t code[8] = {};
  memcpy(code + 4, &back, 4);
  uint64_t target = 0;
  EXPECT_TRUE(unwind::find_call_target(0x401004, code + 8, &target));
  EXPECT_EQ(0x400ffcu, target);
  const uint32_t by_register = 0xd63f0000;
  memcpy(code + 4, &by_register, 4);
  EXPECT_FALSE(unwind::find_call_target(0x401004, code + 8, &target));
}

TEST(CallTarget, IsAJump) {
  const auto is_jump = [](uint32_t first, uint32_t second) {
    const uint32_t words[] = {first, second};
    uint8_t code[8];
    memcpy(code, words, sizeof(code));
    return unwind::is_jump(code);
  };
  EXPECT_TRUE(is_jump(0x90000010, 0xf9400211));   // adrp x16; ldr x17, [x16]
  EXPECT_TRUE(is_jump(0xd503245f, 0x90000010));   // behind bti c
  EXPECT_TRUE(is_jump(0x14000001, 0));            // b
  EXPECT_FALSE(is_jump(0xa9bf7bfd, 0x910003fd));  // stp x29, x30, [sp, #-16]!; mov x29, sp
}

TEST(FollowsCall, TheTrampolineOfSignalsIsKnown) {
  const uint32_t code[] = {0xd2801168u, 0xd4000001u, 0};  // mov x8, #139; svc #0
  uint8_t bytes[sizeof(code)];
  memcpy(bytes, code, sizeof(code));
  EXPECT_TRUE(unwind::is_signal_return(bytes));
  for (size_t i = 0; i < 8; ++i) {
    memcpy(bytes, code, sizeof(code));
    bytes[i] ^= 1;
    EXPECT_FALSE(unwind::is_signal_return(bytes)) << i;
  }
}

}  // namespace
}  // namespace memprof::call_site_test
