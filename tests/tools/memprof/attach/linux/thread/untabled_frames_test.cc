// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/untabled_frames.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "cpu/facts.h"

namespace memprof::cli {
namespace {

using Left = UntabledFrames::Left;

// Code of x86-64, in a page of its own.
alignas(4096) unsigned char g_code[4096];
// At its places.
constexpr uint64_t kCall = 0x100, kNeverReturns = 0x200, kCallsThat = 0x300, kComputes = 0x400;

void write_code() {
  constexpr unsigned char kFunction[] = {0xe8, 0x00, 0x00, 0x00, 0x00,       // call
                                         0x48, 0x83, 0xc4, 0x18,             // add $24, %rsp
                                         0x5d,                               // pop %rbp
                                         0xc3};                              // ret
  constexpr unsigned char kCaller[] = {0xe8, 0xfb, 0xfe, 0xff, 0xff, 0xf4};  // call kNeverReturns; hlt
  constexpr unsigned char kAligned[] = {0x48, 0x89, 0xc4, 0xc3};             // mov %rax, %rsp; ret
  memcpy(g_code + kCall - 5, kFunction, sizeof(kFunction));
  memcpy(g_code + kCallsThat, kCaller, sizeof(kCaller));
  memcpy(g_code + kComputes, kAligned, sizeof(kAligned));
}

TargetImage image_of_code() {
  TargetImage image;
  image.start = reinterpret_cast<uint64_t>(g_code);
  image.end = image.start + sizeof(g_code);
  image.code = {{image.start, image.end}};
  image.addresses["exit"] = image.start + kNeverReturns;
  return image;
}

class UntabledFramesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::kFollowsCode) GTEST_SKIP() << "not on this processor";
    write_code();
  }

  Left leave(uint64_t place, bool is_c_library, FrameRegisters* registers) {
    const TargetImage image = image_of_code();
    const UntabledFrames frames(TargetMemory(static_cast<uint64_t>(getpid()), TargetMemory::Access::kRead),
                                {image}, is_c_library ? image : TargetImage());
    *registers = {image.start + place, reinterpret_cast<uint64_t>(stack_), 7};
    return frames.leave(registers, [](uint64_t address, uint64_t* word) {
      memcpy(word, reinterpret_cast<const void*>(address), sizeof(*word));
      return true;
    });
  }

  uint64_t stack_[8] = {0, 0, 0, 33, 44, 55};
};

TEST_F(UntabledFramesTest, ToTheCaller) {
  FrameRegisters registers;
  EXPECT_EQ(leave(kCall, false, &registers), Left::kToCaller);
  EXPECT_EQ(registers.pc, 44u);
  EXPECT_EQ(registers.bp, 33u);
  EXPECT_EQ(registers.sp, reinterpret_cast<uint64_t>(stack_ + 5));
}

TEST_F(UntabledFramesTest, StacksBeginInTheCLibrary) {
  FrameRegisters registers;
  EXPECT_EQ(leave(kCallsThat, true, &registers), Left::kIsRoot);
  EXPECT_EQ(leave(kCallsThat, false, &registers), Left::kUnknown);
}

TEST_F(UntabledFramesTest, WhatCannotBeFollowed) {
  FrameRegisters registers;
  EXPECT_EQ(leave(kComputes, false, &registers), Left::kUnknown);
  EXPECT_EQ(leave(uint64_t{1} << 40, false, &registers), Left::kUnknown);
}

}  // namespace
}  // namespace memprof::cli
