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

bool follows(std::initializer_list<uint8_t> instruction) {
  // Bytes before that are no call by themselves, and nothing behind: the last byte is the last readable one.
  const GuardedMemory memory(8);
  memset(memory.data(), 0x90, 8);
  std::copy(instruction.begin(), instruction.end(), memory.data() + 8 - instruction.size());
  return unwind::follows_call(memory.data() + 8);
}

TEST(FollowsCall, KnowsEveryFormOfCall) {
  EXPECT_TRUE(follows({0xe8, 0x12, 0x34, 0x56, 0x78}));                    // call rel32
  EXPECT_TRUE(follows({0xff, 0xd0}));                                      // call *%rax
  EXPECT_TRUE(follows({0x41, 0xff, 0xd7}));                                // call *%r15
  EXPECT_TRUE(follows({0xff, 0x10}));                                      // call *(%rax)
  EXPECT_TRUE(follows({0xff, 0x53, 0x18}));                                // call *0x18(%rbx)
  EXPECT_TRUE(follows({0xff, 0x90, 0x00, 0x01, 0x00, 0x00}));              // call *0x100(%rax)
  EXPECT_TRUE(follows({0xff, 0x15, 0xa0, 0x2f, 0x00, 0x00}));              // call *0x2fa0(%rip)
  EXPECT_TRUE(follows({0xff, 0x14, 0x24}));                                // call *(%rsp)
  EXPECT_TRUE(follows({0xff, 0x14, 0xd8}));                                // call *(%rax,%rbx,8)
  EXPECT_TRUE(follows({0xff, 0x54, 0x24, 0x08}));                          // call *0x8(%rsp)
  EXPECT_TRUE(follows({0x41, 0xff, 0x54, 0xdc, 0x08}));                    // call *0x8(%r12,%rbx,8)
  EXPECT_TRUE(follows({0xff, 0x94, 0x24, 0x00, 0x02, 0x00, 0x00}));        // call *0x200(%rsp)
  EXPECT_TRUE(follows({0xff, 0x14, 0xc5, 0x00, 0x10, 0x60, 0x00}));        // call *0x601000(,%rax,8)
  EXPECT_TRUE(follows({0x67, 0xe8, 0x00, 0x00, 0x00, 0x00}));              // addr32 call
  EXPECT_TRUE(follows({0x64, 0xff, 0x14, 0x25, 0x10, 0x00, 0x00, 0x00}));  // call *%fs:0x10
}

TEST(CallTarget, IsThatOfACallByDistance) {
  const uint8_t code[] = {0xe8, 0xf0, 0xff, 0xff, 0xff};
  uint64_t target = 0;
  EXPECT_TRUE(unwind::find_call_target(0x401005, code + 5, &target));
  EXPECT_EQ(0x400ff5u, target);
  const uint8_t by_pointer[] = {0xff, 0x15, 0xa0, 0x2f, 0x00, 0x00};
  EXPECT_FALSE(unwind::find_call_target(0x401006, by_pointer + 6, &target));
}

TEST(CallTarget, MayBeMarked) {
  const uint8_t marked[] = {0xf3, 0x0f, 0x1e, 0xfa};
  const uint8_t other[] = {0xf3, 0x0f, 0x1e, 0xfb};
  EXPECT_EQ(4u, unwind::entry_mark_bytes(marked));
  EXPECT_EQ(0u, unwind::entry_mark_bytes(other));
}

TEST(CallTarget, IsAJump) {
  const auto is_jump = [](std::initializer_list<uint8_t> instruction) {
    uint8_t code[8] = {};
    std::copy(instruction.begin(), instruction.end(), code);
    return unwind::is_jump(code);
  };
  EXPECT_TRUE(is_jump({0xff, 0x25, 0xa0, 0x2f, 0x00, 0x00}));              // jmp *0x2fa0(%rip)
  EXPECT_TRUE(is_jump({0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0xa0, 0x2f}));  // behind endbr64
  EXPECT_TRUE(is_jump({0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0xa0}));  // and bnd
  EXPECT_TRUE(is_jump({0xe9, 0x12, 0x34, 0x56, 0x78}));                    // jmp rel32
  EXPECT_FALSE(is_jump({0x55, 0x48, 0x89, 0xe5}));                         // push %rbp; mov %rsp,%rbp
  EXPECT_FALSE(is_jump({0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5}));
  EXPECT_FALSE(is_jump({0xff, 0x35, 0xa0, 0x2f, 0x00, 0x00}));  // push 0x2fa0(%rip)
}

// A V8 builtin behind its gap, to which a deoptimised frame returns: mov -0x10(%rbp),%rdi.
TEST(BeginsBehindTraps, KnowsWhereBuiltinsBegin) {
  uint8_t code[12] = {0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x48, 0x8b, 0x7d, 0xf0};
  EXPECT_TRUE(unwind::begins_behind_traps(0x7f0000ca7b80, code + 8));
  EXPECT_FALSE(unwind::begins_behind_traps(0x7f0000ca7ba0, code + 8));  // not aligned as they are
  code[0] = 0xc3;
  EXPECT_FALSE(unwind::begins_behind_traps(0x7f0000ca7b80, code + 8));  // the gap is shorter
}

TEST(FollowsCall, KnowsWhatIsNone) {
  EXPECT_FALSE(follows({0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}));  // nop
  EXPECT_FALSE(follows({0xe9, 0x12, 0x34, 0x56, 0x78}));                    // jmp rel32
  EXPECT_FALSE(follows({0xff, 0xe0}));                                      // jmp *%rax
  EXPECT_FALSE(follows({0xff, 0x25, 0xa0, 0x2f, 0x00, 0x00}));              // jmp *0x2fa0(%rip)
  EXPECT_FALSE(follows({0xff, 0x30}));                                      // push (%rax)
  EXPECT_FALSE(follows({0xff, 0xc0}));                                      // inc %eax
  EXPECT_FALSE(follows({0xff, 0x18}));                                      // lcall *(%rax)
  EXPECT_FALSE(follows({0xc3}));                                            // ret
  EXPECT_FALSE(follows({0xff, 0x15, 0xa0, 0x2f}));                          // two bytes into its address
  EXPECT_FALSE(follows({0xff, 0x14}));                                      // before its SIB byte
  EXPECT_FALSE(follows({0xff, 0x50, 0x08, 0x90}));                          // one byte behind it
  EXPECT_FALSE(follows({0xe8, 0x12, 0x34, 0x56, 0x78, 0x90}));
}

TEST(FollowsCall, TheTrampolineOfSignalsIsKnown) {
  const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  EXPECT_TRUE(unwind::is_signal_return(code));
  for (size_t i = 0; i < sizeof(code); ++i) {
    uint8_t other[sizeof(code)];
    memcpy(other, code, sizeof(code));
    other[i] ^= 1;
    EXPECT_FALSE(unwind::is_signal_return(other)) << i;
  }
}

}  // namespace
}  // namespace memprof::call_site_test
