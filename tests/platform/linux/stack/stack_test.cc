// SPDX-License-Identifier: Apache-2.0
// Captures of real stacks, compared with what the compiler's own unwinder (libgcc) sees at the same place.
#include <alloca.h>
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unwind.h>

#include <stdexcept>

#include "platform/stack.h"
#include "tests/support/engine.h"
#include "unwind/tables/rule_cache.h"

#if defined(__x86_64__)
namespace memprof::stack_test {
namespace {

#define NOINLINE __attribute__((noinline))

using platform::Walk;

constexpr uint32_t kMax = 512;

struct Capture {
  std::vector<uint64_t> ours;
  Walk reason{};
  std::vector<uint64_t> theirs;
};
Capture* g_capture;
uint32_t g_depth = kMax;
volatile uint64_t g_sink;

// Stands for the hook: keeps a frame pointer, and its return address is the first frame.  Must not allocate:
// handlers call it.
NOINLINE void hook() {
  static uint64_t frames[kMax];
  const auto result = platform::capture_stack({__builtin_frame_address(0)}, frames, g_depth);
  g_capture->ours.assign(frames, frames + result.depth);
  g_capture->reason = result.reason;
  g_capture->theirs.clear();
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void*) {
        int before_instruction = 0;
        const uint64_t pc = _Unwind_GetIPInfo(context, &before_instruction);
        if (pc != 0) {
          g_capture->theirs.push_back(before_instruction != 0 ? pc + 1 : pc);
        }
        return _URC_NO_REASON;
      },
      nullptr);
  // Its first frame is this function.
  g_capture->theirs.erase(g_capture->theirs.begin());
  g_sink = g_sink + 1;
}

template <typename F>
Capture capture(const F& f) {
  Capture result;
  result.ours.reserve(kMax);
  result.theirs.reserve(kMax);
  g_capture = &result;
  f();
  g_capture = nullptr;
  return result;
}

void expect_same(const Capture& c, size_t min) {
  EXPECT_GE(c.theirs.size(), min);
  EXPECT_EQ(c.theirs, c.ours);
  EXPECT_EQ(Walk::kRoot, c.reason);
}

NOINLINE void recursion(int depth) {
  if (depth == 0) {
    hook();
  } else {
    recursion(depth - 1);
  }
  g_sink = g_sink + 1;
}

TEST(Stack, PlainCode) {
  for (const int depth : {0, 1, 30, 100}) {
    // Twice: by the tables, and by what was remembered of them.
    const Capture cold = capture([depth] { recursion(depth); });
    expect_same(cold, static_cast<size_t>(depth) + 10);
    const Capture warm = capture([depth] { recursion(depth); });
    expect_same(warm, static_cast<size_t>(depth) + 10);
  }
}

TEST(Stack, TheDepthLimit) {
  const Capture whole = capture([] { recursion(50); });
  g_depth = 20;
  const Capture part = capture([] { recursion(50); });
  g_depth = kMax;
  EXPECT_EQ(Walk::kDepthLimit, part.reason);
  ASSERT_EQ(20u, part.ours.size());
  EXPECT_TRUE(std::equal(part.ours.begin(), part.ours.end(), part.theirs.begin()));
}

TEST(Stack, ADeepStackKeepsBothEnds) {
  for (const int depth : {44, 54, 55, 60, 75, 150, 400}) {
    const Capture whole = capture([depth] { recursion(depth); });
    EXPECT_EQ(Walk::kRoot, whole.reason);
    g_depth = 64;
    const Capture part = capture([depth] { recursion(depth); });
    g_depth = kMax;
    if (whole.ours.size() <= 64) {
      EXPECT_EQ(Walk::kRoot, part.reason);
      continue;
    }
    EXPECT_EQ(Walk::kMiddleLeftOut, part.reason);
    ASSERT_EQ(64u, part.ours.size());
    EXPECT_EQ(platform::kFramesLeftOut, part.ours[47]);
    // The frames of the caller's lambda may differ.
    EXPECT_TRUE(std::equal(part.ours.begin(), part.ours.begin() + 47, part.theirs.begin()));
    EXPECT_TRUE(std::equal(part.ours.begin() + 48, part.ours.end(), part.theirs.end() - 16));
  }
}

NOINLINE void realigned(int depth) {
  alignas(64) volatile char aligned[100];
  aligned[0] = 1;
  depth == 0 ? hook() : realigned(depth - 1);
  g_sink = g_sink + static_cast<uint64_t>(aligned[0]);
}

NOINLINE void variable(size_t size) {
  alignas(128) volatile char aligned[10];
  volatile char* p = static_cast<char*>(alloca(size));
  p[0] = aligned[0] = 1;
  size < 100 ? variable(size + 37) : hook();
  g_sink = g_sink + static_cast<uint64_t>(p[0]) + static_cast<uint64_t>(aligned[0]);
}

template <size_t kBytes>
NOINLINE void huge(int depth) {
  volatile char frame[kBytes];
  frame[0] = frame[kBytes - 1] = 1;
  depth == 0 ? hook() : huge<kBytes>(depth - 1);
  g_sink = g_sink + static_cast<uint64_t>(frame[0]);
}

TEST(Stack, OddFrames) {
  expect_same(capture([] { realigned(4); }), 12);
  expect_same(capture([] { variable(1); }), 12);
  expect_same(capture([] { huge<10000>(3); }), 12);
  expect_same(capture([] { huge<140000>(3); }), 12);  // over 128 KiB
  expect_same(capture([] { huge<700000>(2); }), 12);  // too large for a rule
}

int compare_ints(const void* a, const void* b) {
  hook();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST(Stack, ThroughTheCLibrary) {
  expect_same(capture([] {
                int values[] = {3, 1, 2};
                qsort(values, 3, sizeof(int), compare_ints);
              }),
              12);
}

struct CapturesInDestructor {
  ~CapturesInDestructor() { hook(); }
};

NOINLINE void throws() {
  CapturesInDestructor c;
  throw std::runtime_error("thrown");
}

TEST(Stack, InALandingPad) {
  expect_same(capture([] {
                try {
                  throws();
                } catch (const std::runtime_error&) {
                  g_sink = g_sink + 1;
                }
              }),
              10);
}

// ---- Signals
// -------------------------------------------------------------------------------------------------

// The trap is the instruction of a function without a frame.
NOINLINE __attribute__((naked)) void leaf() {
  __asm__("int3\n\tret");
}

void handle(int number, int flags) {
  struct sigaction action{};
  action.sa_handler = [](int) { hook(); };
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

class SignalStack {
 public:
  SignalStack() : memory_(256 * 1024) {
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    stack_t stack{};
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  }

 private:
  std::vector<char> memory_;
};

TEST(Stack, SignalHandlers) {
  const SignalStack stack;
  for (const int flags : {0, SA_ONSTACK}) {
    SCOPED_TRACE(flags);
    handle(SIGUSR1, flags);
    handle(SIGTRAP, flags);
    expect_same(capture([] { ::raise(SIGUSR1); }), 12);
    expect_same(capture([] { leaf(); }), 12);
    expect_same(capture([] { leaf(); }), 12);
  }
  signal(SIGUSR1, SIG_DFL);
  signal(SIGTRAP, SIG_DFL);
}

// ---- Other stacks
// --------------------------------------------------------------------------------------------

void* thread_main(void*) {
  recursion(5);
  return nullptr;
}

TEST(Stack, ASmallThread) {
  expect_same(capture([] {
                pthread_attr_t attributes;
                pthread_attr_init(&attributes);
                pthread_attr_setstacksize(&attributes, testing_support::kSanitized ? 1 << 20 : 64 * 1024);
                pthread_t thread;
                ASSERT_EQ(0, pthread_create(&thread, &attributes, thread_main, nullptr));
                pthread_join(thread, nullptr);
                pthread_attr_destroy(&attributes);
              }),
              7);
}

#if !MEMPROF_TEST_SANITIZED
ucontext_t g_main;
ucontext_t g_fiber;

TEST(Stack, ACoroutine) {
  constexpr size_t kSize = 64 * 1024;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, memory);
  const Capture c = capture([memory] {
    getcontext(&g_fiber);
    g_fiber.uc_stack.ss_sp = memory;
    g_fiber.uc_stack.ss_size = kSize;
    g_fiber.uc_link = &g_main;
    makecontext(&g_fiber, +[] { recursion(6); }, 0);
    swapcontext(&g_main, &g_fiber);
  });
  munmap(memory, kSize);
  ASSERT_GE(c.ours.size(), 8u);  // seven and the function; where a coroutine begins, each ends as it likes
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(c.theirs[i], c.ours[i]);
  }
}
#endif

#if !MEMPROF_TEST_SANITIZED
// How far down a capture writes: paints the stack below it first.
constexpr uint64_t kPaint = 0x5ca1ab1e5ca1ab1e;
constexpr size_t kPainted = 64 * 1024;
uint64_t g_used;

NOINLINE void measure_use() {
  static uint64_t frames[kMax];
  auto* const frame = static_cast<volatile uint64_t*>(__builtin_frame_address(0));
  volatile uint64_t* const low = frame - kPainted / 8;
  for (volatile uint64_t* p = low; p < frame - 64; ++p) {  // not this function's own variables
    *p = kPaint;
  }
  const auto result = platform::capture_stack({__builtin_frame_address(0)}, frames, kMax);
  volatile uint64_t* p = low;
  while (p < frame && *p == kPaint) {
    ++p;
  }
  g_used = static_cast<uint64_t>(frame - p) * 8;
  g_sink = g_sink + result.depth;
}

template <size_t kBytes>
NOINLINE void measure_below() {
  volatile char locals[kBytes];
  locals[0] = locals[kBytes - 1] = 1;
  measure_use();
  g_sink = g_sink + static_cast<uint64_t>(locals[0]);
}

TEST(Stack, AWalkUsesLittleOfIt) {
  measure_below<64>();  // binds the C library's functions; libmemprof is linked with -z now
  for (const auto& below : {measure_below<64>, measure_below<700000>}) {  // one rule; all registers
    unwind::g_rule_cache.begin_unload();
    unwind::g_rule_cache.end_unload();
    below();
    printf("%lu bytes\n", g_used);
    EXPECT_GT(g_used, 512u);
    // With what is above it in a sample (the frames, 1 KiB, and the hooks) less than 5 KiB.
    EXPECT_LT(g_used, 3500u);
  }
}
#endif

TEST(Stack, WhatErrnoWasDoesNotMatter) {
  errno = 0;
  expect_same(capture([] { recursion(3); }), 8);
}

}  // namespace
}  // namespace memprof::stack_test
#endif
