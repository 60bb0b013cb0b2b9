// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/thread_facts.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::TargetProcess;

TEST(ThreadFacts, OfThisThread) {
  const auto process = static_cast<uint64_t>(getpid());
  EXPECT_EQ(state_of(process, getpid()).letter, 'R');
  EXPECT_TRUE(state_of(process, getpid()).is_under_way());
  EXPECT_FALSE(state_of(process, getpid()).executes_nothing());
  usleep(1);  // what it has used is added up when it sleeps
  EXPECT_GT(used_ns(process, getpid()), 0u);
}

TEST(ThreadFacts, AllThreadsOfAProcess) {
  TargetProcess target({"nanosleep"});
  EXPECT_EQ(threads_of(target.pid()).size(), 2u);  // one reads
  EXPECT_EQ(target.finish(), "ok");
}

TEST(ThreadFacts, WhatAThreadWaitsIn) {
  TargetProcess target({"nanosleep"});
  const auto thread = static_cast<pid_t>(target.pid());
  processor::WaitingCall call;
  for (int i = 0; i < 1000 && call.number < 0; ++i) {
    usleep(1000);
    call = WaitLook(thread).call();
  }
  EXPECT_TRUE(call.number == SYS_nanosleep || call.number == SYS_clock_nanosleep) << call.number;
  EXPECT_NE(call.stack_pointer, 0u);
  EXPECT_NE(call.program_counter, 0u);
  EXPECT_GT(call.sleeps, 0u);
  EXPECT_EQ(target.finish(), "ok");
}

void do_nothing(int) {}

TEST(ThreadFacts, SignalsForAHandler) {
  struct sigaction before, action{};
  action.sa_handler = do_nothing;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  sigset_t set, mask;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  const pid_t parent = getpid();
  EXPECT_FALSE(has_signal_for_handler(parent));
  sigprocmask(SIG_BLOCK, &set, &mask);
  raise(SIGUSR1);
  EXPECT_FALSE(has_signal_for_handler(parent)) << "it is blocked";
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  // Of a stopped process it stays where it is.
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  waitpid(child, nullptr, WUNTRACED);
  EXPECT_FALSE(has_signal_for_handler(child));
  kill(child, SIGUSR2);  // which ends it, later
  EXPECT_FALSE(has_signal_for_handler(child)) << "it has no handler";
  kill(child, SIGUSR1);
  EXPECT_TRUE(has_signal_for_handler(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(ThreadFacts, OfWhoIsGone) {
  EXPECT_EQ(sleeps_of(0), 0u);
  EXPECT_EQ(WaitLook(0).call().number, -1);
  EXPECT_FALSE(WaitLook(0).is_waiting());
  EXPECT_FALSE(has_signal_for_handler(0));
  EXPECT_TRUE(threads_of(0).empty());
  EXPECT_EQ(used_ns(0, 1), 0u);
  EXPECT_TRUE(state_of(0, 1).executes_nothing());
  EXPECT_FALSE(state_of(0, 1).is_under_way());
}

}  // namespace
}  // namespace memprof::cli
