// SPDX-License-Identifier: Apache-2.0
#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/process.h"
#include "platform/stack.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "core/engine/profiler.h"
#include "core/sampling/sampler.h"
#include "platform/linux/memory/stack_bounds.h"
#include "platform/posix/fork_handler.h"
#include "tests/support/engine.h"

namespace memprof::platform_test {
namespace {

using testing_support::in_child;
using testing_support::kSanitized;
using testing_support::run_threads;

TEST(Platform, ReservedPagesAreZeroAndSparse) {
  constexpr size_t kSize = size_t{1} << (kSanitized ? 28 : 36);  // far more than there is memory
  auto* p = static_cast<uint8_t*>(platform::reserve_pages(kSize));
  ASSERT_NE(nullptr, p);
  EXPECT_EQ(0, p[0]);
  EXPECT_EQ(0, p[kSize / 2]);
  p[kSize - 1] = 1;
  platform::advise_sparse(p, kSize);
  EXPECT_EQ(1, p[kSize - 1]);
  platform::advise_dense(p, kSize);
  EXPECT_EQ(1, p[kSize - 1]);
  platform::release_pages(p, kSize);
  EXPECT_FALSE(platform::is_readable(reinterpret_cast<uint64_t>(p)));
}

TEST(Platform, WhatCannotBeReservedIsNull) {
  EXPECT_EQ(nullptr, platform::reserve_pages(size_t{1} << 62));
  EXPECT_EQ(nullptr, platform::reserve_pages(0));
}

// The whole of a child's life; true: it saw what it should.
template <typename Create>
bool child_says(const Create& create, const std::atomic<uint64_t>* mark, uint64_t expected) {
  const pid_t pid = create();
  if (pid == 0) {
    syscall(SYS_exit_group, *mark == expected ? 0 : 1);
  }
  int status = 1;
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

[[maybe_unused]] int in_vfork_child(void* mark) {
  return *static_cast<const std::atomic<uint64_t>*>(mark) == 12345 ? 0 : 1;
}

TEST(Platform, TheOwnerMarkIsWipedInEveryChildButVforks) {
  in_child([] {
    platform::OwnerPage* page = platform::make_owner_page();
    ASSERT_NE(nullptr, page);
    EXPECT_EQ(0u, page->mark);
    EXPECT_EQ(0u, page->claim);
    const std::atomic<uint64_t>* mark = &page->mark;
    page->mark = 12345;
    EXPECT_EQ(12345u, *mark);
    EXPECT_TRUE(child_says([] { return fork(); }, mark, 0));
    EXPECT_TRUE(child_says(
        [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); },
        mark, 0));
#if !defined(__SANITIZE_THREAD__)  // whose clone of gcc 13 and later does not bear shared memory
    // As vfork does, but with a stack of its own.
    alignas(16) static char stack[65536];
    void* argument = &page->mark;
    const pid_t pid =
        clone(in_vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, argument);
    int status = 1;
    ASSERT_EQ(pid, waitpid(pid, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ(12345u, *mark);
#endif
    // And a child of a child.
    EXPECT_TRUE(child_says(
        [&] {
          const pid_t child = fork();
          if (child == 0) {
            syscall(SYS_exit_group, child_says([] { return fork(); }, mark, 0) ? 0 : 1);
          }
          return child;
        },
        mark, 0));
  });
}

TEST(Platform, SeedsDiffer) {
  std::set<uint64_t> seeds;
  for (int i = 0; i < 1000; ++i) {
    seeds.insert(platform::random_seed());
  }
  EXPECT_EQ(1000u, seeds.size());
}

// A filter that ends the process at any call but its exit.
void allow_only_exit() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{sizeof(filter) / sizeof(filter[0]), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(2);
  }
}

TEST(Platform, InASandboxNoSystemCallIsMade) {
  if (testing_support::kSanitized) {
    GTEST_SKIP() << "a sanitizer makes calls";
  }
  const pid_t pid = fork();
  if (pid == 0) {
    platform::random_seed();
    platform::program_path();  // asked at the start, as this is
    platform::set_sandboxed(true);
    allow_only_exit();
    uint64_t word = 0;
    uint64_t frames[8];
    const bool is_right = platform::is_sandboxed() && platform::random_seed() != platform::random_seed() &&
                          platform::monotonic_ns() != 0 && platform::thread_id() == 0 &&
                          !platform::read_memory(reinterpret_cast<uint64_t>(&word), &word, sizeof(word)) &&
                          platform::has_stack_for_walk({__builtin_frame_address(0)}, 0) &&
                          platform::capture_stack({__builtin_frame_address(0)}, frames, 8).depth >= 1;
    syscall(SYS_exit_group, is_right ? 7 : 3);
  }
  int status = 0;
  ASSERT_EQ(pid, waitpid(pid, &status, 0));
  EXPECT_TRUE(WIFEXITED(status)) << WTERMSIG(status);
  EXPECT_EQ(7, WEXITSTATUS(status));
}

TEST(Platform, IdsAreThoseOfTheSystem) {
  EXPECT_EQ(static_cast<uint32_t>(getpid()), platform::process_id());
  EXPECT_EQ(static_cast<uint32_t>(getpid()), platform::thread_id());
  std::atomic<uint32_t> ids[2] = {};
  run_threads(2, [&](int thread) {
    ids[thread] = platform::thread_id();
    EXPECT_EQ(static_cast<uint32_t>(syscall(SYS_gettid)), platform::thread_id());
    platform::yield_thread();
  });
  EXPECT_NE(ids[0].load(), ids[1].load());
  char path[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
  EXPECT_STREQ(path, platform::program_path());
}

TEST(Platform, ArgumentsAreThoseOfTheProgram) {
  char text[4096];
  const size_t size = platform::program_arguments(text, sizeof(text));
  std::string first;
  std::getline(std::ifstream("/proc/self/cmdline"), first, '\0');
  ASSERT_LT(first.size(), size);
  EXPECT_EQ(first, text);
  EXPECT_EQ(3u, platform::program_arguments(text, 3));
  EXPECT_EQ(first.substr(0, 3), std::string(text, 3));
  in_child([&] {
    platform::set_sandboxed(true);
    EXPECT_EQ(0u, platform::program_arguments(text, sizeof(text)));
  });
}

TEST(Platform, TheStartOfAProcessStaysThroughExecAndIsNotItsParents) {
  const uint64_t start = platform::process_start();
  EXPECT_NE(0u, start);
  EXPECT_EQ(start, platform::process_start());
  usleep(20000);  // more than a tick
  in_child([start] { EXPECT_LT(start, platform::process_start()); });
}

}  // namespace
}  // namespace memprof::platform_test
