// SPDX-License-Identifier: Apache-2.0
// The stub, executed here: a program of calls, and the end of one whose attacher is gone.
#include <gtest/gtest.h>

#include "memprof/attach/linux/processor/call_program.h"
#include "memprof/attach/linux/processor/processor.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstring>

namespace memprof::cli::processor {
namespace {

constexpr size_t kStackBytes = size_t{256} << 10;

int negative(uint64_t value) {
  return -static_cast<int>(value);
}

uint64_t g_sum;
uint64_t add(uint64_t a, uint64_t b) {
  return g_sum = a + b;
}

jmp_buf g_before;
void come_back() {
  longjmp(g_before, 1);
}

uint64_t address_of(const void* p) {
  return reinterpret_cast<uint64_t>(p);
}

template <typename Function>
uint64_t address_of_function(Function* f) {
  return reinterpret_cast<uint64_t>(f);
}

TEST(Stub, FitsIntoAPage) {
  EXPECT_GT(stub_code().size(), 100u);
  EXPECT_LT(stub_code().size(), 4096u);
}

TEST(Stub, MakesTheCallsOneAfterTheOther) {
  auto* const code = static_cast<char*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(code, MAP_FAILED);
  memcpy(code, stub_code().data(), stub_code().size());
  __builtin___clear_cache(code, code + stub_code().size());
  auto* const memory = static_cast<char*>(
      mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  char* const at = memory + kStackBytes - CallProgram::kBytes;
  uint32_t word = 0x80000001;
  CallProgram program(address_of(at), 0, 3);
  const auto add_step = [&](CallStep::Kind kind, uint64_t function, uint64_t first, uint64_t second,
                            uint32_t indirect = 0, uint32_t is_int = 0) {
    CallStep step;
    step.kind = kind;
    step.function = function;
    step.arguments[0] = first;
    step.arguments[1] = second;
    step.indirect = indirect;
    step.is_int = is_int;
    return program.add(step);
  };
  const size_t sum = add_step(CallStep::kFunction, address_of_function(add), 40, 2);
  const size_t minus = add_step(CallStep::kFunction, address_of_function(negative),
                                program.address_of_result(sum), 0, CallStep::kIndirectFirst, 1);
  const size_t id = add_step(CallStep::kSystemCall, SYS_getpid, 0, 0);
  const size_t loaded = add_step(CallStep::kLoad, 0, address_of(&word), 0);
  const size_t stored = add_step(CallStep::kStore, 0, address_of(&word), program.address_of_result(sum),
                                 CallStep::kIndirectSecond);
  const size_t failed = add_step(CallStep::kSystemCall, SYS_close, ~uint64_t{0}, 0);
  const size_t skipped = add_step(CallStep::kFunction, address_of_function(add), 1, 1);
  const size_t unanswered = add_step(CallStep::kAwait, 0, 0, 0);
  add_step(CallStep::kFunction, address_of_function(come_back), 0, 0);
  program.on_failure(failed, CallStep::kIfNegative, unanswered);
  memcpy(at, program.image().data(), program.image().size());

  if (setjmp(g_before) == 0) {
    const auto* const begin = code;
    asm volatile("mov x0, %0\n mov sp, %0\n br %1\n" : : "r"(at), "r"(begin) : "memory", "x0");
  }
  const auto result = [&](size_t step) {
    int64_t value = 0;
    memcpy(&value, at + CallProgram::offset_of_result(step), sizeof(value));
    return value;
  };
  EXPECT_EQ(result(sum), 42);
  EXPECT_EQ(result(minus), -42);
  EXPECT_EQ(result(id), getpid());
  EXPECT_EQ(result(loaded), 0x80000001);
  EXPECT_EQ(result(stored), 0);
  EXPECT_EQ(word, 42u);
  EXPECT_EQ(result(failed), -EBADF);
  EXPECT_EQ(result(skipped), 0);
  EXPECT_EQ(g_sum, 42u);
  EXPECT_EQ(result(unanswered), 0);
  munmap(memory, kStackBytes);
  munmap(code, 4096);
}

}  // namespace
}  // namespace memprof::cli::processor
