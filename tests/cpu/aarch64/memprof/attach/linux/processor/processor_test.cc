// SPDX-License-Identifier: Apache-2.0
// Registers as the kernel shows them, made up; that the kernel takes what is made of them is shown in a whole system
// (tests/whole_system).
#include <gtest/gtest.h>

#include "memprof/attach/linux/processor/processor.h"

#include <asm/ptrace.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <ucontext.h>

#include <cerrno>
#include <cstring>

namespace memprof::cli::processor {
namespace {

Registers with(const user_pt_regs& all) {
  Registers registers;
  memcpy(registers.words.data(), &all, sizeof(all));
  return registers;
}

user_pt_regs of(const Registers& registers) {
  user_pt_regs all;
  memcpy(&all, registers.words.data(), sizeof(all));
  return all;
}

constexpr uint64_t kCallAt = 0x5000;

// Behind a call that ended, or at one that is to be repeated.
user_pt_regs stopped(long number, uint64_t at, int64_t first) {
  user_pt_regs all{};
  all.regs[0] = static_cast<uint64_t>(first);
  all.regs[1] = 11;
  all.regs[8] = static_cast<uint64_t>(number);
  all.sp = 0x7000;
  all.pc = at;
  return all;
}

WaitingCall waited(long number, uint64_t first = 5, uint64_t second = 11, uint64_t fourth = 0) {
  WaitingCall call;
  call.number = number;
  call.arguments[0] = first;
  call.arguments[1] = second;
  call.arguments[3] = fourth;
  call.stack_pointer = 0x7000;
  call.program_counter = kCallAt + 4;
  return call;
}

TEST(Processor, CallsThatAStopHasEndedAreRepeatedWithTheirFirstArgument) {
  Registers registers = with(stopped(SYS_epoll_pwait, kCallAt + 4, -EINTR));
  EXPECT_EQ(repeat_interrupted_call(&registers, waited(SYS_epoll_pwait)), Repeat::kAlways);
  EXPECT_EQ(result(registers), 5);
  EXPECT_EQ(program_counter(registers), kCallAt);
  // A signal handler ends it as if it had not been repeated.
  end_repeated_call(&registers);
  EXPECT_EQ(result(registers), -EINTR);
  EXPECT_EQ(program_counter(registers), kCallAt + 4);
  // Not what succeeded, was another call, is not known, or is not ended by stops.
  const auto left_alone = [](const user_pt_regs& all, const WaitingCall& was) {
    Registers unchanged = with(all);
    return repeat_interrupted_call(&unchanged, was) == Repeat::kNone && unchanged.words == with(all).words;
  };
  const user_pt_regs ended = stopped(SYS_epoll_pwait, kCallAt + 4, -EINTR);
  EXPECT_TRUE(left_alone(stopped(SYS_epoll_pwait, kCallAt + 4, 1), waited(SYS_epoll_pwait)));
  EXPECT_TRUE(left_alone(ended, waited(SYS_accept)));
  EXPECT_TRUE(left_alone(ended, WaitingCall()));
  EXPECT_TRUE(left_alone(ended, waited(SYS_epoll_pwait, 5, 12)));
  WaitingCall elsewhere = waited(SYS_epoll_pwait);
  elsewhere.stack_pointer = 0x6000;
  EXPECT_TRUE(left_alone(ended, elsewhere));
  EXPECT_TRUE(left_alone(stopped(SYS_close, kCallAt + 4, -EINTR), waited(SYS_close)));
}

TEST(Processor, TimesGoOnAndDoNotBeginAnew) {
  const auto number_after = [](const WaitingCall& was, Repeat expected) {
    user_pt_regs all = stopped(was.number, kCallAt, 5);
    all.regs[1] = was.arguments[1];
    all.regs[3] = was.arguments[3];
    Registers registers = with(all);
    EXPECT_EQ(repeat_interrupted_call(&registers, was), expected);
    EXPECT_EQ(program_counter(registers), kCallAt);
    return static_cast<long>(of(registers).regs[8]);
  };
  EXPECT_EQ(number_after(waited(SYS_nanosleep), Repeat::kAlways), SYS_restart_syscall);
  EXPECT_EQ(number_after(waited(SYS_clock_nanosleep, 0, 0), Repeat::kAlways), SYS_restart_syscall);
  EXPECT_EQ(number_after(waited(SYS_futex, 5, FUTEX_WAIT_PRIVATE, 0x100), Repeat::kAlways),
            SYS_restart_syscall);
  // Times of the clock, and calls that change what they are given.
  EXPECT_EQ(number_after(waited(SYS_clock_nanosleep, 0, TIMER_ABSTIME), Repeat::kAlways),
            SYS_clock_nanosleep);
  EXPECT_EQ(number_after(waited(SYS_ppoll), Repeat::kAlways), SYS_ppoll);
  // Calls that the kernel repeats behind a handler, too, where that is wanted.
  EXPECT_EQ(number_after(waited(SYS_futex, 5, FUTEX_WAIT_PRIVATE, 0), Repeat::kNone), SYS_futex);
  EXPECT_EQ(number_after(waited(SYS_read), Repeat::kNone), SYS_read);
}

ucontext_t context_of(const std::string& frame) {
  ucontext_t context{};
  memcpy(static_cast<void*>(&context), frame.data() + context_in_frame() + 128, sizeof(context));
  return context;
}

TEST(Processor, AFrameHasTheRegistersTheVectorsAndTheMask) {
  user_pt_regs all = stopped(-1, kCallAt, 77);
  all.regs[19] = 19;
  all.pstate = 0x60000000;
  user_fpsimd_state simd{};
  simd.vregs[31] = 31;
  simd.fpcr = 0x400000;
  const std::string vectors(reinterpret_cast<const char*>(&simd), sizeof(simd));
  const std::string frame = signal_frame(with(all), vectors, 0xf0f0, 0x10038, 0);
  EXPECT_EQ((0x10038 + context_in_frame()) % 16, 0u);
  const ucontext_t context = context_of(frame);
  EXPECT_EQ(context.uc_mcontext.regs[0], 77u);
  EXPECT_EQ(context.uc_mcontext.regs[19], 19u);
  EXPECT_EQ(context.uc_mcontext.sp, 0x7000u);
  EXPECT_EQ(context.uc_mcontext.pc, kCallAt);
  EXPECT_EQ(context.uc_mcontext.pstate, 0x60000000u);
  EXPECT_TRUE(sigismember(&context.uc_sigmask, 5));
  EXPECT_FALSE(sigismember(&context.uc_sigmask, 1));
  fpsimd_context record;
  memcpy(&record, context.uc_mcontext.__reserved, sizeof(record));
  EXPECT_EQ(record.head.magic, static_cast<uint32_t>(FPSIMD_MAGIC));
  EXPECT_EQ(record.head.size, sizeof(record));
  EXPECT_EQ(record.fpcr, 0x400000u);
  EXPECT_TRUE(record.vregs[31] == 31);
  _aarch64_ctx end;
  memcpy(&end, context.uc_mcontext.__reserved + sizeof(record), sizeof(end));
  EXPECT_EQ(end.magic + end.size, 0u);
}

TEST(Processor, AFrameHasScalableVectors) {
  user_fpsimd_state simd{};
  constexpr uint16_t kBytes = 32;
  constexpr size_t kUnits = kBytes / 16;
  std::string scalable(SVE_PT_SIZE(kUnits, SVE_PT_REGS_SVE), '\0');
  user_sve_header header{};
  header.vl = kBytes;
  header.flags = SVE_PT_REGS_SVE;
  memcpy(scalable.data(), &header, sizeof(header));
  scalable[SVE_PT_SVE_ZREG_OFFSET(kUnits, 31) + kBytes - 1] = 7;
  scalable[SVE_PT_SVE_FFR_OFFSET(kUnits)] = 9;
  const std::string vectors = std::string(reinterpret_cast<const char*>(&simd), sizeof(simd)) + scalable;
  const ucontext_t context = context_of(signal_frame(with(stopped(-1, kCallAt, 0)), vectors, 0, 0x10038, 0));
  const auto* const record =
      reinterpret_cast<const char*>(context.uc_mcontext.__reserved) + sizeof(fpsimd_context);
  sve_context head;
  memcpy(&head, record, sizeof(head));
  EXPECT_EQ(head.head.magic, static_cast<uint32_t>(SVE_MAGIC));
  EXPECT_EQ(head.head.size, (SVE_SIG_CONTEXT_SIZE(kUnits) + 15) / 16 * 16);
  EXPECT_EQ(head.vl, kBytes);
  EXPECT_EQ(record[SVE_SIG_ZREG_OFFSET(kUnits, 31) + kBytes - 1], 7);
  EXPECT_EQ(record[SVE_SIG_FFR_OFFSET(kUnits)], 9);
  // More than a frame has room for is told by its size.
  header.vl = 256;
  scalable.resize(SVE_PT_SIZE(16, SVE_PT_REGS_SVE));
  memcpy(scalable.data(), &header, sizeof(header));
  EXPECT_GT(
      signal_frame(with(stopped(-1, kCallAt, 0)), vectors.substr(0, sizeof(simd)) + scalable, 0, 0x10038, 0)
          .size(),
      size_t{1} << 16);
}

TEST(Processor, CallsBeginAsTheSystemExpects) {
  user_pt_regs all = stopped(SYS_read, kCallAt, 0);
  all.pstate = 0x60000c00;
  const user_pt_regs called =
      of(system_call(with(all), 0x9000, SYS_mmap, 0x6008, 0xabcd, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(called.pc, 0x9000u);
  EXPECT_EQ(called.sp, 0x6010u);
  EXPECT_EQ(called.regs[0], 1u);
  EXPECT_EQ(called.regs[5], 6u);
  EXPECT_EQ(called.regs[8], static_cast<unsigned long>(SYS_mmap));
  EXPECT_EQ(called.regs[30], 0xabcdu);
  EXPECT_EQ(called.pstate, 0x60000000u) << "no branch led there";
  const user_pt_regs stub = of(stub_call(with(all), 0x9000, 0x6000, 0x6000));
  EXPECT_EQ(stub.sp, 0x6000u);
  EXPECT_EQ(stub.regs[0], 0x6000u);
}

TEST(Processor, CodeBehindCalls) {
  const auto ends = [](uint32_t instruction) {
    unsigned char bytes[8] = {};
    memcpy(bytes + 4, &instruction, sizeof(instruction));
    return ends_in_call(bytes);
  };
  EXPECT_TRUE(ends(0x94000010));   // bl
  EXPECT_TRUE(ends(0x97fffff0));   // bl backwards
  EXPECT_TRUE(ends(0xd63f0120));   // blr x9
  EXPECT_TRUE(ends(0xd63f093f));   // blraaz x9
  EXPECT_TRUE(ends(0xd73f0921));   // blraa x9, x1
  EXPECT_FALSE(ends(0x14000010));  // b
  EXPECT_FALSE(ends(0xd61f0120));  // br x9
  EXPECT_FALSE(ends(0xd65f03c0));  // ret
  EXPECT_FALSE(ends(0xd503201f));  // nop
}

TEST(Processor, ReturnAddressesWithoutTheirSignature) {
  EXPECT_EQ(return_address(0x002bffff80123456), 0x0000ffff80123456u);
  EXPECT_EQ(return_address(0x0000aaaa80123456), 0x0000aaaa80123456u);
}

}  // namespace
}  // namespace memprof::cli::processor
