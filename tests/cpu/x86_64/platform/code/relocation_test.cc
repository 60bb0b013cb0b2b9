// SPDX-License-Identifier: Apache-2.0
#include "platform/code/relocation.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace memprof::platform {
namespace {

using Code = std::vector<uint8_t>;

constexpr uint64_t kAddress = 0x10000;
constexpr uint64_t kCopy = 0x20000;

// What follows the window, so that a decoder that runs over finds something.
Relocation moved(Code code, uint64_t copy = kCopy) {
  const size_t size = code.size();
  code.resize(size + 64, 0xcc);
  return relocate(code.data(), size, kAddress, copy);
}

int32_t word_at(const Relocation& r, size_t at) {
  int32_t word;
  memcpy(&word, r.copy + at, sizeof(word));
  return word;
}

TEST(Relocation, PlainInstructionsStayAsTheyAre) {
  // push %rbp; mov %rsp,%rbp; push %rbx; ret
  const Relocation r = moved({0x55, 0x48, 0x89, 0xe5, 0x53, 0xc3});
  ASSERT_EQ(r.refusal, Refusal::kNone);
  EXPECT_EQ(r.entry_bytes, 0u);
  EXPECT_EQ(r.window_bytes, 5u);
  EXPECT_EQ(r.copy_bytes, 10u);
  EXPECT_EQ(memcmp(r.copy, "\x55\x48\x89\xe5\x53\xe9", 6), 0);
  EXPECT_EQ(kCopy + 10 + static_cast<uint64_t>(int64_t{word_at(r, 6)}), kAddress + 5);  // and on
}

TEST(Relocation, EndbrStays) {
  const Relocation r = moved({0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8, 0x48, 0x89, 0xf2, 0xc3});
  ASSERT_EQ(r.refusal, Refusal::kNone);
  EXPECT_EQ(r.entry_bytes, 4u);
  EXPECT_EQ(r.window_bytes, 6u);
}

TEST(Relocation, AddressesFromTheInstructionPointer) {
  // mov 0x100(%rip),%rax; ret
  const Relocation r = moved({0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0xc3});
  ASSERT_EQ(r.refusal, Refusal::kNone);
  EXPECT_EQ(kCopy + 7 + static_cast<uint64_t>(int64_t{word_at(r, 3)}), kAddress + 7 + 0x100);
  // cmpq $1,0x100(%rip): the displacement is not last
  const Relocation c = moved({0x48, 0x83, 0x3d, 0x00, 0x01, 0x00, 0x00, 0x01, 0xc3});
  ASSERT_EQ(c.refusal, Refusal::kNone);
  EXPECT_EQ(kCopy + 8 + static_cast<uint64_t>(int64_t{word_at(c, 3)}), kAddress + 8 + 0x100);
  EXPECT_EQ(c.copy[7], 1);
}

TEST(Relocation, ShortJumpsBecomeLongOnes) {
  // test %rdi,%rdi; je +0x20; ret
  Code code{0x48, 0x85, 0xff, 0x74, 0x20, 0xc3};
  const Relocation r = moved(code);
  ASSERT_EQ(r.refusal, Refusal::kNone);
  EXPECT_EQ(r.copy[3], 0x0f);
  EXPECT_EQ(r.copy[4], 0x84);
  EXPECT_EQ(kCopy + 9 + static_cast<uint64_t>(int64_t{word_at(r, 5)}), kAddress + 5 + 0x20);
  // jmp +0x40, and padding
  const Relocation j = moved({0xeb, 0x40, 0x90, 0x90, 0x90, 0x90});
  ASSERT_EQ(j.refusal, Refusal::kNone);
  EXPECT_EQ(j.copy_bytes, 5u);
  EXPECT_EQ(kCopy + 5 + static_cast<uint64_t>(int64_t{word_at(j, 1)}), kAddress + 2 + 0x40);
}

TEST(Relocation, WhatCannotBeMovedIsRefused) {
  EXPECT_EQ(moved({0x50, 0xe8, 0x00, 0x01, 0x00, 0x00, 0xc3}).refusal, Refusal::kCall);
  EXPECT_EQ(moved({0xff, 0x15, 0x00, 0x01, 0x00, 0x00, 0xc3}).refusal, Refusal::kCall);  // call *0x100(%rip)
  EXPECT_EQ(moved({0xe2, 0x40, 0x90, 0x90, 0x90, 0xc3}).refusal, Refusal::kLoop);        // loop
  EXPECT_EQ(moved({0xe3, 0x40, 0x90, 0x90, 0x90, 0xc3}).refusal, Refusal::kLoop);        // jrcxz
  EXPECT_EQ(moved({0x06, 0x90, 0x90, 0x90, 0x90, 0xc3}).refusal, Refusal::kUnreadable);
  EXPECT_EQ(moved({0x31, 0xc0, 0xc3, 0x31, 0xc0, 0xc3}).refusal,
            Refusal::kShort);  // another function follows
  EXPECT_EQ(moved({0x31, 0xc0}).refusal, Refusal::kShort);
  EXPECT_EQ(moved({}).refusal, Refusal::kShort);
  EXPECT_EQ(moved({0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0xc3}, kCopy + (uint64_t{1} << 32)).refusal,
            Refusal::kFar);
  EXPECT_EQ(moved({0x90, 0x90, 0x90, 0x90, 0x90, 0xc3}, kCopy + (uint64_t{1} << 32)).refusal, Refusal::kFar);
}

TEST(Relocation, NothingMayJumpIntoTheWindow) {
  // Three instructions of three bytes, then a jump back to the second, to the first, to behind them.
  const Code window{0x48, 0x89, 0xf8, 0x48, 0x89, 0xf2};
  const auto with_jump = [&](int8_t distance) {
    Code code = window;
    code.insert(code.end(), {0x75, static_cast<uint8_t>(distance), 0xc3});
    return moved(code).refusal;
  };
  EXPECT_EQ(with_jump(-5), Refusal::kJumpInto);
  EXPECT_EQ(with_jump(-8), Refusal::kJumpInto);
  EXPECT_EQ(with_jump(-2), Refusal::kNone);  // to itself
  // A jump inside of the window.
  EXPECT_EQ(moved({0x74, 0x01, 0x90, 0x90, 0x90, 0xc3}).refusal, Refusal::kJumpInto);
  // A function that calls itself begins anew.
  EXPECT_EQ(moved({0x48, 0x89, 0xf8, 0x48, 0x89, 0xf2, 0xe8, 0xf5, 0xff, 0xff, 0xff, 0xc3}).refusal,
            Refusal::kNone);
}

TEST(Relocation, Reaches) {
  const Code code{0x50, 0xe8, 0x0a, 0x00, 0x00, 0x00, 0xeb, 0x20, 0xc3};
  const uint64_t called = kAddress + 6 + 10;
  const uint64_t jumped = kAddress + 8 + 0x20;
  const uint64_t other = kAddress;
  EXPECT_TRUE(reaches(code.data(), code.size(), kAddress, &called, 1));
  EXPECT_TRUE(reaches(code.data(), code.size(), kAddress, &jumped, 1));
  EXPECT_FALSE(reaches(code.data(), code.size(), kAddress, &other, 1));
}

TEST(Relocation, AnythingIsAnswered) {
  uint64_t state = 1;
  int moved_count = 0;
  for (int i = 0; i < 20000; ++i) {
    Code code(32);
    for (uint8_t& byte : code) {
      state = state * 6364136223846793005 + 1442695040888963407;
      byte = static_cast<uint8_t>(state >> 56);
    }
    const Relocation r = moved(code);
    if (r.refusal == Refusal::kNone) {
      ++moved_count;
      EXPECT_LE(r.window_bytes, kMaxWindowBytes);
      EXPECT_LE(r.copy_bytes, kMaxCopyBytes);
      EXPECT_GE(r.copy_bytes, 1u);
    }
  }
  EXPECT_GT(moved_count, 0);
}

}  // namespace
}  // namespace memprof::platform
