// SPDX-License-Identifier: Apache-2.0
#include "unwind/frame_pointer.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <vector>

#include "tests/support/engine.h"
#include "unwind/stack_memory.h"

namespace memprof::frame_pointer_test {
namespace {

using platform::Walk;
using platform::WalkResult;
using testing_support::GuardedMemory;
using testing_support::Random;
using testing_support::scaled;
using unwind::StackBounds;
using unwind::StackMemory;

// Return addresses of hand-made stacks say by themselves what they are.
constexpr uint64_t kCall = 0x400000;   // and up: after a call
constexpr uint64_t kOther = 0x500000;  // and up: not after a call
constexpr uint64_t kStart = 0x600000;  // the root
constexpr uint64_t kHook = 0x700000;   // and up: ours

bool is_call_site(uint64_t address) {
  return (address >= kCall && address < kOther) || address == kStart;
}
bool is_root(uint64_t address, uint64_t) {
  return address == kStart;
}
bool is_hook(uint64_t address) {
  return address >= kHook && address < kHook + 0x1000;
}
constexpr unwind::Code kCode{is_call_site, is_root, is_hook};

// A stack of words between two pages that cannot be read.
class Stack {
 public:
  static constexpr uint64_t kWords = 512;

  Stack() : memory_(kWords * 8) {}
  uint64_t address(uint64_t word) const { return reinterpret_cast<uint64_t>(memory_.data()) + word * 8; }
  uint64_t& at(uint64_t word) { return reinterpret_cast<uint64_t*>(memory_.data())[word]; }
  StackBounds bounds() const { return {address(0), address(kWords)}; }

  // Frames at these words, each with this return address; the last one ends the chain.
  void link(const std::vector<std::pair<uint64_t, uint64_t>>& chain) {
    for (size_t i = 0; i < chain.size(); ++i) {
      at(chain[i].first) = i + 1 < chain.size() ? address(chain[i + 1].first) : 0;
      at(chain[i].first + 1) = chain[i].second;
    }
  }
  WalkResult walk(uint64_t frame, uint32_t max_depth = 64) {
    frames.assign(max_depth + 1, 0xdead);
    const WalkResult result = unwind::walk_frame_pointers(frame, bounds(), kCode, frames.data(), max_depth);
    EXPECT_EQ(0xdeadu, frames[max_depth]);
    EXPECT_LE(result.depth, max_depth);
    frames.resize(result.depth);
    return result;
  }

  std::vector<uint64_t> frames;

 private:
  GuardedMemory memory_;
};

void expect_walk(Stack& stack, uint64_t word, Walk reason, const std::vector<uint64_t>& frames,
                 uint32_t max_depth = 64) {
  const WalkResult result = stack.walk(stack.address(word), max_depth);
  EXPECT_EQ(static_cast<int>(reason), static_cast<int>(result.reason));
  EXPECT_EQ(frames, stack.frames);
}

TEST(FramePointer, FollowsAChainToItsEnd) {
  Stack stack;
  stack.link({{4, kCall + 1}, {10, kCall + 2}, {100, kCall + 3}});
  expect_walk(stack, 4, Walk::kRoot, {kCall + 1, kCall + 2, kCall + 3});
  expect_walk(stack, 10, Walk::kRoot, {kCall + 2, kCall + 3});
}

TEST(FramePointer, EndsAtTheRootFunction) {
  Stack stack;
  stack.link({{4, kCall + 1}, {10, kStart}, {20, kCall + 2}});
  expect_walk(stack, 4, Walk::kRoot, {kCall + 1, kStart});
}

TEST(FramePointer, AReturnAddressOfZeroEndsTheStackIfTheFrameDoesToo) {
  Stack stack;
  stack.link({{4, kCall + 1}, {10, 0}});
  expect_walk(stack, 4, Walk::kRoot, {kCall + 1});
  stack.at(10) = stack.address(20);
  expect_walk(stack, 4, Walk::kBadFrame, {kCall + 1});
}

TEST(FramePointer, TheDepthLimitKeepsTheLeafEnd) {
  Stack stack;
  stack.link({{4, kCall + 1}, {10, kCall + 2}, {20, kCall + 3}, {30, kCall + 4}});
  expect_walk(stack, 4, Walk::kDepthLimit, {kCall + 1, kCall + 2}, 2);
  expect_walk(stack, 4, Walk::kDepthLimit, {kCall + 1}, 1);
  expect_walk(stack, 4, Walk::kRoot, {kCall + 1, kCall + 2, kCall + 3, kCall + 4}, 4);  // exactly enough
}

TEST(FramePointer, HooksAreLeftOutAtTheLeafEndOnly) {
  Stack stack;
  stack.link({{4, kHook + 1}, {8, kHook + 2}, {12, kCall + 1}, {16, kCall + 2}});
  expect_walk(stack, 4, Walk::kRoot, {kCall + 1, kCall + 2});
  // They do not count for the limit.
  expect_walk(stack, 4, Walk::kDepthLimit, {kCall + 1}, 1);
  // The frame behind a hook is believed without a look at its code; a later one is not.
  stack.link({{4, kHook + 1}, {8, kOther}, {12, kOther + 1}});
  expect_walk(stack, 4, Walk::kNoRule, {kOther});
  // A hook further up the stack is no call site of the program's.
  stack.link({{4, kCall + 1}, {8, kHook + 1}, {12, kCall + 2}});
  expect_walk(stack, 4, Walk::kNoRule, {kCall + 1});
}

TEST(FramePointer, AFrameThatIsNotAfterACallIsNotBelieved) {
  Stack stack;
  stack.link({{4, kCall + 1}, {10, kOther}, {20, kCall + 2}});
  expect_walk(stack, 4, Walk::kNoRule, {kCall + 1});
}

TEST(FramePointer, CyclesAndFramesThatGoDownEnd) {
  Stack stack;
  stack.link({{4, kCall + 1}, {10, kCall + 2}, {20, kCall + 3}});
  stack.at(20) = stack.address(20);  // itself
  expect_walk(stack, 4, Walk::kBadFrame, {kCall + 1, kCall + 2, kCall + 3});
  stack.at(20) = stack.address(4);  // the first
  expect_walk(stack, 4, Walk::kBadFrame, {kCall + 1, kCall + 2, kCall + 3});
}

TEST(FramePointer, MisalignedFramesEnd) {
  Stack stack;
  stack.link({{4, kCall + 1}, {10, kCall + 2}});
  for (uint64_t by = 1; by < 8; ++by) {
    stack.at(4) = stack.address(10) + by;
    expect_walk(stack, 4, Walk::kBadFrame, {kCall + 1});
    EXPECT_EQ(0u, stack.walk(stack.address(4) + by).depth);
  }
}

TEST(FramePointer, TheLastFrameThatFitsIsReadAndNoneBehindIt) {
  Stack stack;
  stack.link({{4, kCall + 1}, {Stack::kWords - 2, kCall + 2}});
  expect_walk(stack, 4, Walk::kRoot, {kCall + 1, kCall + 2});
  stack.at(4) = stack.address(Stack::kWords - 1);  // its return address would be behind the end
  expect_walk(stack, 4, Walk::kLeftStack, {kCall + 1});
  stack.at(4) = stack.address(Stack::kWords);
  expect_walk(stack, 4, Walk::kLeftStack, {kCall + 1});
}

// Lesson 12: whatever the register holds, no read outside the stack.
TEST(FramePointer, Lesson12AnyFramePointerIsSafe) {
  Stack stack;
  const uint64_t low = stack.address(0);
  const uint64_t high = stack.address(Stack::kWords);
  for (const uint64_t frame :
       {uint64_t{0}, uint64_t{1}, uint64_t{8}, low - 8, low - 16, high, high - 8, high - 7, high + 8,
        uint64_t{UINT64_MAX}, uint64_t{UINT64_MAX} - 7, uint64_t{UINT64_MAX} - 15,
        uint64_t{0x8000000000000000}, uint64_t{0x7fffffffffff}, uint64_t{0xffff800000000000}}) {
    EXPECT_EQ(0u, stack.walk(frame).depth) << std::hex << frame;
  }
  Random random(1);
  for (uint64_t i = 0; i < scaled(1000000); ++i) {
    // Anything; near the stack; and in it, over words that are anything.
    const uint64_t kind = random.below(3);
    const uint64_t frame = kind == 0   ? random.next() >> random.below(64)
                           : kind == 1 ? low - 4096 + random.below(high - low + 8192)
                                       : stack.address(random.below(Stack::kWords));
    const uint64_t word = random.below(Stack::kWords);
    stack.at(word) = random.below(2) == 0   ? stack.address(random.below(Stack::kWords + 8))
                     : random.below(2) == 0 ? kCall + random.below(100)
                                            : random.next() >> random.below(64);
    stack.walk(frame, 1 + static_cast<uint32_t>(random.below(20)));
  }
}

TEST(FramePointer, BoundsThatHoldNoFrameGiveNone) {
  uint64_t frames[4];
  for (const StackBounds& bounds :
       {StackBounds{0, 0}, StackBounds{0, 8}, StackBounds{8, 8}, StackBounds{4096, 4096}}) {
    for (const uint64_t frame : {uint64_t{0}, uint64_t{8}, uint64_t{4096}, uint64_t{UINT64_MAX} - 7}) {
      EXPECT_EQ(0u, unwind::walk_frame_pointers(frame, bounds, kCode, frames, 4).depth);
    }
  }
}

// ---- Memory that a walk may read

TEST(StackMemory, ContainsWholeWordsOnly) {
  StackMemory stack({4096, 8192});
  EXPECT_FALSE(stack.contains(4088));
  EXPECT_TRUE(stack.contains(4096));
  EXPECT_TRUE(stack.contains(8184));
  EXPECT_FALSE(stack.contains(8185));
  EXPECT_FALSE(stack.contains(8192));
  EXPECT_FALSE(stack.contains(UINT64_MAX));
  EXPECT_TRUE(stack.is_whole());
}

TEST(StackMemory, WithoutMemoryContainsNothing) {
  for (const StackBounds& bounds : {StackBounds{0, 0}, StackBounds{0, 7}, StackBounds{4096, 4096}}) {
    StackMemory stack(bounds);
    for (const uint64_t address :
         {uint64_t{0}, uint64_t{8}, uint64_t{4096}, uint64_t{0x7fff00000000}, uint64_t{UINT64_MAX} - 7}) {
      uint64_t value = 0;
      EXPECT_FALSE(stack.read(address, &value)) << address << " in " << bounds.low << " to " << bounds.high;
    }
  }
}

TEST(StackMemory, GrowsWhileThereIsMore) {
  StackMemory stack({4096, 8192, [](uint64_t high) { return high < 20480 ? high + 4096 : high; }});
  EXPECT_FALSE(stack.is_whole());
  EXPECT_TRUE(stack.contains(12288));
  EXPECT_EQ(16384u, stack.high());
  EXPECT_FALSE(stack.contains(1 << 20));
  EXPECT_EQ(20480u, stack.high());
  EXPECT_TRUE(stack.is_whole());
  EXPECT_FALSE(stack.contains(4088));
}

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
}  // namespace memprof::frame_pointer_test
