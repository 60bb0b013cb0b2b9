// SPDX-License-Identifier: Apache-2.0
// capture_stack on real stacks of this program.
#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <vector>

#include "core/platform.h"
#include "platform/linux/hook_section.h"
#include "tests/support/engine.h"

namespace memprof::stack_test {
namespace {

using platform::capture_stack;
using platform::Walk;
using platform::WalkResult;
using testing_support::in_child;
using testing_support::kSanitized;
using testing_support::run_threads;

constexpr uint32_t kMostFrames = 256;

struct Captured {
  WalkResult result{};
  uint64_t frames[kMostFrames + 1];
  std::vector<uint64_t> expected;  // return addresses, leaf first, as the callees themselves see them
};

thread_local Captured t_captured;
thread_local uint32_t t_max_depth = kMostFrames;

#define OWN_RETURN_ADDRESS reinterpret_cast<uint64_t>(__builtin_return_address(0))

// Stands for a hook: the frame that captures, and keeps a frame pointer.
__attribute__((noinline)) void capture() {
  Captured& c = t_captured;
  c.frames[t_max_depth] = 0xdead;
  c.result = capture_stack({__builtin_frame_address(0)}, c.frames, t_max_depth);
  EXPECT_EQ(0xdeadu, c.frames[t_max_depth]);
  c.expected.insert(c.expected.begin(), OWN_RETURN_ADDRESS);
}

// A chain of calls; each level keeps something on its stack, so that frames differ in size.
__attribute__((noinline)) void call_down(int levels) {
  volatile char local[32] = {};
  if (levels == 0) {
    capture();
  } else {
    call_down(levels - 1);
  }
  local[0] = local[1];
  t_captured.expected.push_back(OWN_RETURN_ADDRESS);
}

void expect_begins_as_expected() {
  const Captured& c = t_captured;
  ASSERT_GE(c.result.depth, c.expected.size());
  for (size_t i = 0; i < c.expected.size(); ++i) {
    EXPECT_EQ(c.expected[i], c.frames[i]) << "frame " << i << " of " << c.result.depth;
  }
}

// Lesson 27: a leaf's direct caller is never lost.
TEST(Stack, Lesson27TheDirectCallerIsTheFirstFrame) {
  t_captured = {};
  capture();
  expect_begins_as_expected();
  for (const int levels : {0, 1, 5, 50}) {
    t_captured = {};
    call_down(levels);
    EXPECT_EQ(static_cast<size_t>(levels) + 2, t_captured.expected.size());
    expect_begins_as_expected();
  }
}

TEST(Stack, OfTheMainThreadReachesItsRoot) {
  t_captured = {};
  call_down(3);
  expect_begins_as_expected();
#if defined(__x86_64__)
  EXPECT_EQ(Walk::kRoot, t_captured.result.reason);
  EXPECT_GT(t_captured.result.depth, 10u);  // the test framework, main, the C library
#endif
}

TEST(Stack, OfAThreadReachesItsRoot) {
  run_threads(4, [](int) {
    t_captured = {};
    call_down(7);
    expect_begins_as_expected();
    EXPECT_EQ(Walk::kRoot, t_captured.result.reason);
  });
}

// Lesson 26: over the depth limit the leaf end is kept, and the truncation said.
TEST(Stack, Lesson26DeepRecursionKeepsTheLeafEnd) {
  for (const uint32_t limit : {1u, 2u, 10u, kMostFrames}) {
    t_max_depth = limit;
    t_captured = {};
    call_down(1000);
    EXPECT_EQ(Walk::kDepthLimit, t_captured.result.reason);
    ASSERT_EQ(limit, t_captured.result.depth);
    for (uint32_t i = 0; i < limit; ++i) {
      EXPECT_EQ(t_captured.expected[i], t_captured.frames[i]);
    }
  }
  t_max_depth = kMostFrames;
}

// A function of the hooks' section between the program and the capture.
__attribute__((noinline)) MEMPROF_HOOK void hook() {
  const uint64_t outside = OWN_RETURN_ADDRESS;
  capture();
  t_captured.expected = {outside};
}

TEST(Stack, HooksAreLeftOut) {
  t_captured = {};
  hook();
  expect_begins_as_expected();
  for (uint32_t i = 0; i < t_captured.result.depth; ++i) {
    EXPECT_FALSE(platform::is_hook_address(t_captured.frames[i]));
  }
  EXPECT_TRUE(platform::is_hook_address(reinterpret_cast<uint64_t>(&hook)));
  EXPECT_FALSE(platform::is_hook_address(reinterpret_cast<uint64_t>(&capture)));
  EXPECT_FALSE(platform::is_hook_address(0));
}

TEST(Stack, KeepsErrno) {
  errno = 123;
  t_captured = {};
  call_down(2);
  EXPECT_EQ(123, errno);
}

TEST(Stack, TheSameCallsGiveTheSameStack) {
  std::vector<uint64_t> first;
  for (int i = 0; i < 20; ++i) {
    t_captured = {};
    call_down(4);
    const std::vector<uint64_t> frames(t_captured.frames, t_captured.frames + t_captured.result.depth);
    if (i == 0) {
      first = frames;
    } else {
      EXPECT_EQ(first, frames);
    }
  }
}

// ---- Stacks that are not the thread's own (lesson 12)

struct ForeignStack {
  static constexpr size_t kBytes = 1 << 20;
  ForeignStack() {
    start = static_cast<char*>(mmap(nullptr, kBytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) +
            4096;
    EXPECT_EQ(0, mprotect(start, kBytes, PROT_READ | PROT_WRITE));
  }
  ~ForeignStack() { munmap(start - 4096, kBytes + 8192); }
  ForeignStack(const ForeignStack&) = delete;
  ForeignStack& operator=(const ForeignStack&) = delete;
  char* start;
};

ucontext_t g_main_context;
ucontext_t g_coroutine;

void in_coroutine() {
  call_down(3);
  swapcontext(&g_coroutine, &g_main_context);
}

TEST(Stack, Lesson12OfACoroutineNextToAGuardPage) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizers do not follow swapcontext";
  }
  const ForeignStack memory;
  t_captured = {};
  ASSERT_EQ(0, getcontext(&g_coroutine));
  g_coroutine.uc_stack.ss_sp = memory.start;
  g_coroutine.uc_stack.ss_size = ForeignStack::kBytes;
  g_coroutine.uc_link = nullptr;
  makecontext(&g_coroutine, in_coroutine, 0);
  ASSERT_EQ(0, swapcontext(&g_main_context, &g_coroutine));
  expect_begins_as_expected();
  EXPECT_LT(t_captured.result.depth, 20u);
}

TEST(Stack, OfAThreadWithASmallStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kSanitized ? 1 << 20 : 64 * 1024);
  pthread_t thread;
  ASSERT_EQ(0, pthread_create(
                   &thread, &attributes,
                   [](void*) -> void* {
                     t_captured = {};
                     call_down(5);
                     expect_begins_as_expected();
                     EXPECT_EQ(Walk::kRoot, t_captured.result.reason);
                     return nullptr;
                   },
                   nullptr));
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

Captured g_in_handler;

void on_signal(int) {
  t_captured = {};
  call_down(2);
  g_in_handler = t_captured;
}

__attribute__((noinline)) uint64_t raise_here() {
  ::raise(SIGUSR1);
  asm volatile("");
  return OWN_RETURN_ADDRESS;
}

void expect_handler_then_program(uint64_t caller_of_raiser) {
  t_captured = g_in_handler;
  expect_begins_as_expected();
#if defined(__x86_64__)
  const uint64_t* begin = g_in_handler.frames;
  const uint64_t* end = begin + g_in_handler.result.depth;
  EXPECT_NE(end, std::find(begin, end, caller_of_raiser)) << "the interrupted program is lost";
  EXPECT_EQ(Walk::kRoot, g_in_handler.result.reason);
#endif
}

TEST(Stack, OfASignalHandlerGoesOnInTheProgram) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizers call handlers from functions of their own";
  }
  in_child([] {
    struct sigaction action{};
    action.sa_handler = on_signal;
    ASSERT_EQ(0, sigaction(SIGUSR1, &action, nullptr));
    expect_handler_then_program(raise_here());
  });
}

TEST(Stack, Lesson12OfASignalHandlerOnAStackOfItsOwn) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizers call handlers from functions of their own";
  }
  in_child([] {
    const ForeignStack memory;
    stack_t alternative{};
    alternative.ss_sp = memory.start;
    alternative.ss_size = ForeignStack::kBytes;
    ASSERT_EQ(0, sigaltstack(&alternative, nullptr));
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    ASSERT_EQ(0, sigaction(SIGUSR1, &action, nullptr));
    expect_handler_then_program(raise_here());
    alternative.ss_flags = SS_DISABLE;
    sigaltstack(&alternative, nullptr);
  });
}

// The registers of the program may hold anything when it calls a hook: here its frame pointer does.
TEST(Stack, Lesson12AnyFramePointerOfTheCallerIsSafe) {
  testing_support::Random random(3);
  for (int i = 0; i < 2000; ++i) {
    // A hook's frame by hand: what it saved of the caller's frame pointer, and a return address in no module.
    uint64_t frame[2] = {random.next() >> random.below(64), 0x10000 + random.below(1 << 20)};
    if (random.below(3) == 0) {
      frame[0] = reinterpret_cast<uint64_t>(frame) + random.below(100000) - 1000;
    }
    uint64_t frames[16];
    const WalkResult result = capture_stack({frame}, frames, 16);
    ASSERT_GE(result.depth, 1u);
    EXPECT_EQ(frame[1], frames[0]);
  }
}

TEST(Stack, RacingThreadsCaptureTheirOwn) {
  run_threads(8, [](int thread) {
    for (int i = 0; i < 200; ++i) {
      t_captured = {};
      call_down(thread + 1);
      expect_begins_as_expected();
    }
  });
}

}  // namespace
}  // namespace memprof::stack_test
