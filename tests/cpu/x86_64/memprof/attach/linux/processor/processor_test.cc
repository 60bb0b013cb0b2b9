// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <ucontext.h>

#include <cerrno>
#include <cstring>

#include "memprof/attach/linux/processor/processor.h"

namespace memprof::cli::processor {
namespace {

Registers with(const user_regs_struct& all) {
  Registers registers;
  memcpy(registers.words.data(), &all, sizeof(all));
  return registers;
}

user_regs_struct of(const Registers& registers) {
  user_regs_struct all;
  memcpy(&all, registers.words.data(), sizeof(all));
  return all;
}

user_regs_struct interrupted(long number, long result) {
  user_regs_struct all{};
  all.orig_rax = static_cast<unsigned long>(number);
  all.rax = static_cast<unsigned long>(result);
  all.rip = 0x5000;
  all.rsp = 0x7000;
  return all;
}

TEST(Processor, CallsThatAStopHasEndedAreRepeated) {
  Registers registers = with(interrupted(SYS_epoll_wait, -EINTR));
  EXPECT_EQ(repeat_interrupted_call(&registers, {}), Repeat::kByKernel);
  EXPECT_EQ(result(registers), -514);
  // No others, and not what succeeded.
  registers = with(interrupted(SYS_close, -EINTR));
  EXPECT_EQ(repeat_interrupted_call(&registers, {}), Repeat::kNone);
  registers = with(interrupted(SYS_epoll_wait, 1));
  EXPECT_EQ(repeat_interrupted_call(&registers, {}), Repeat::kNone);
}

TEST(Processor, RandomBytesThatAStopHasCutShortAreMadeAnew) {
  user_regs_struct all = interrupted(SYS_getrandom, 256);
  all.rsi = 1000;
  Registers registers = with(all);
  EXPECT_EQ(repeat_interrupted_call(&registers, {}), Repeat::kByKernel);
  EXPECT_EQ(result(registers), -514);
  all.rsi = 256;
  registers = with(all);
  EXPECT_EQ(repeat_interrupted_call(&registers, {}), Repeat::kNone);
  EXPECT_EQ(result(registers), 256);
}

ucontext_t context_of(const std::string& frame) {
  ucontext_t context{};
  memcpy(&context, frame.data() + context_in_frame(), offsetof(ucontext_t, uc_sigmask) + 8);
  return context;
}

TEST(Processor, AFrameHasTheRegistersAndTheMask) {
  user_regs_struct all = interrupted(-1, 77);
  all.r12 = 12;
  const std::string frame = signal_frame(with(all), "", 0xf0f0, 0x10038, 0xabcd);
  uint64_t returns_to = 0;
  memcpy(&returns_to, frame.data(), sizeof(returns_to));
  EXPECT_EQ(returns_to, 0xabcdu);
  const ucontext_t context = context_of(frame);
  EXPECT_EQ(context.uc_mcontext.gregs[REG_R12], 12);
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RAX], 77);
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RIP], 0x5000);
  EXPECT_TRUE(sigismember(&context.uc_sigmask, 5));
  EXPECT_FALSE(sigismember(&context.uc_sigmask, 1));
}

TEST(Processor, AFrameRepeatsTheCall) {
  ucontext_t context = context_of(signal_frame(with(interrupted(SYS_read, -512)), "", 0, 0x10038, 0));
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RAX], SYS_read);
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RIP], 0x5000 - 2);
  context = context_of(signal_frame(with(interrupted(SYS_nanosleep, -516)), "", 0, 0x10038, 0));
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RAX], -EINTR);
  EXPECT_EQ(context.uc_mcontext.gregs[REG_RIP], 0x5000);
}

TEST(Processor, CallsBeginAsTheSystemExpects) {
  user_regs_struct all = interrupted(SYS_read, -512);
  all.eflags = 0x400 | 0x2;
  const user_regs_struct called =
      of(system_call(with(all), 0x9000, SYS_mmap, 0x6008, 0xabcd, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(called.rip, 0x9000u);
  EXPECT_EQ(called.rsp, 0x6008u);
  EXPECT_EQ(called.rdi, 1u);
  EXPECT_EQ(called.r10, 4u);
  EXPECT_EQ(called.rax, static_cast<unsigned long>(SYS_mmap));
  EXPECT_EQ(called.r9, 6u);
  EXPECT_EQ(called.eflags, 0x2u);
  EXPECT_EQ(static_cast<long>(called.orig_rax), -1);
}

TEST(Processor, CallInstructions) {
  const unsigned char direct[] = {0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4};
  const unsigned char by_register[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0};
  const unsigned char by_memory[] = {0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4};
  const unsigned char none[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
  const unsigned char jump[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0};
  EXPECT_TRUE(ends_in_call(direct));
  EXPECT_TRUE(ends_in_call(by_register));
  EXPECT_TRUE(ends_in_call(by_memory));
  EXPECT_FALSE(ends_in_call(none));
  EXPECT_FALSE(ends_in_call(jump));
}

}  // namespace
}  // namespace memprof::cli::processor
