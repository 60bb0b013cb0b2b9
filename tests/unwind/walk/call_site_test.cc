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

#if defined(__x86_64__)
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
#elif defined(__aarch64__)
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
#endif

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
