// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/sampler.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>

#include "tests/core/sampling/sampler_fixture.h"
#include "tests/support/engine.h"

namespace memprof::sampler_test {
namespace {

// The compiler is to keep it on the stack.
void use(char* frame) {
  asm volatile("" : : "r"(frame) : "memory");
}

// As a hook does: an allocation inside an event that lets its count run out.
[[gnu::noinline]] void allocate_in_event(uint64_t size) {
  char frame[1024];  // of what is between the two events
  use(frame);
  ASSERT_TRUE(sampler_tick(size));
  const SamplingEvent nested = sampler_event(size);
  EXPECT_FALSE(nested.sampled);
  EXPECT_EQ(0u, nested.muted_bytes());
  EXPECT_FALSE(sampler_tick(100));
  EXPECT_EQ(100u, nested.muted_bytes());
  sampler_resume(nested);
}

// Lesson 19: re-entered allocations do not push the sample to their neighbour.
TEST_F(Sampler, Lesson19NestedAllocationsMoveNeitherClockNorGenerator) {
  t_sampler.count = 10;
  ASSERT_TRUE(sampler_tick(64));
  const SamplingEvent event = sampler_event(64);
  const uint64_t random[] = {t_sampler.random[0], t_sampler.random[1]};
  EXPECT_FALSE(sampler_tick(1 << 20));   // the allocator's own
  allocate_in_event(uint64_t{1} << 40);  // more than the event's count
  EXPECT_FALSE(sampler_tick(0));
  EXPECT_EQ((uint64_t{1} << 20) + (uint64_t{1} << 40) + 1, event.muted_bytes());
  sampler_resume(event);
  EXPECT_EQ(event.next_count, t_sampler.count);
  EXPECT_EQ(random[0], t_sampler.random[0]);
  EXPECT_EQ(random[1], t_sampler.random[1]);
}

jmp_buf g_outside;

[[gnu::noinline]] void jump_out_of_an_event() {
  char frame[4096];
  use(frame);
  t_sampler.count = 10;
  sampler_tick(64);
  sampler_event(64);
  longjmp(g_outside, 1);
}

// What a handler does by siglongjmp that came while the real malloc ran.
TEST_F(Sampler, AThreadThatWasJumpedOutOfAnEventIsSampledAgain) {
  sampler_set_rate(1000);
  sampler_redraw();
  if (setjmp(g_outside) == 0) {
    jump_out_of_an_event();
  }
  EXPECT_EQ(kEventCount, t_sampler.count) << "muted";
  uint64_t bytes = 0;
  while (!sampler_tick(1 << 20)) {
    bytes += 1 << 20;
    ASSERT_LE(bytes, kEventCount);
  }
  const SamplingEvent event = sampler_event(1 << 20);
  EXPECT_TRUE(event.sampled);
  EXPECT_EQ(1000u, event.rate_bytes);
  EXPECT_EQ(bytes, event.muted_bytes()) << "what was lost is told";
  sampler_resume(event);
  EXPECT_LE(t_sampler.count, 46u * 1000);
  EXPECT_EQ(0u, t_sampler.event_frame);
}

// A signal stack: where it lies says nothing, even inside the stack of the thread.
TEST_F(Sampler, AnEventThatASignalInterruptedGoesOn) {
  static uint64_t run_outs;
  run_outs = 0;
  alignas(16) char signal_stack[65536];
  stack_t stack{};
  stack_t old{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof(signal_stack);
  ASSERT_EQ(0, sigaltstack(&stack, &old));
  struct sigaction action{};
  struct sigaction before{};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) {
    for (; run_outs < 3; ++run_outs) {
      while (!sampler_tick(1 << 20)) {
      }
      const SamplingEvent nested = sampler_event(1 << 20);
      if (nested.sampled) {
        run_outs = 100;
      }
      sampler_resume(nested);
    }
  };
  ASSERT_EQ(0, sigaction(SIGUSR2, &action, &before));
  [&]() __attribute__((noinline)) {
    char frame[4096];  // below the signal stack
    use(frame);
    t_sampler.count = 10;
    ASSERT_TRUE(sampler_tick(64));
    const SamplingEvent event = sampler_event(64);
    ::raise(SIGUSR2);
    EXPECT_EQ(3u, run_outs) << "nothing was sampled";
    EXPECT_EQ(3 * (kEventCount + (1 << 20)), event.muted_bytes());
    sampler_resume(event);
    EXPECT_EQ(event.next_count, t_sampler.count);
  }();
  sigaction(SIGUSR2, &before, nullptr);
  sigaltstack(&old, nullptr);
}

// Of an event on a stack that is nowhere near, nothing is known.
TEST_F(Sampler, AnEventThatCannotBeSeenIsGivenUpInTheEnd) {
  sampler_set_rate(0);
  t_sampler.count = 10;
  ASSERT_TRUE(sampler_tick(64));
  sampler_event(64);
  t_sampler.event_frame = 4096;
  int run_outs = 0;
  for (bool sampled = false; !sampled; ++run_outs) {
    ASSERT_LT(run_outs, 100);
    while (!sampler_tick(1 << 20)) {
    }
    const SamplingEvent event = sampler_event(1 << 20);
    sampled = event.sampled;
    sampler_resume(event);
  }
  EXPECT_GT(run_outs, 4);
}

TEST_F(Sampler, AnEventWithoutASampleKeepsTheCount) {
  t_sampler.count = 77;
  const SamplingEvent event = sampler_no_event();
  EXPECT_FALSE(event.sampled);
  EXPECT_FALSE(sampler_tick(1000));
  EXPECT_EQ(1000u, event.muted_bytes());
  sampler_resume(event);
  EXPECT_EQ(77u, t_sampler.count);
}

}  // namespace
}  // namespace memprof::sampler_test
