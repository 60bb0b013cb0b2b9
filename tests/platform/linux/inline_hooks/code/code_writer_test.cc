// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/code_writer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace memprof::platform {
namespace {

constexpr size_t kPage = 4096;

#if defined(__x86_64__)
TEST(CodeWriter, AJumpAlsoAcrossPages) {
  auto* pages = static_cast<uint8_t*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  const uint8_t one[] = {0xb8, 1, 0, 0, 0, 0xc3};  // mov $1, %eax; ret
  const uint8_t two[] = {0xb8, 2, 0, 0, 0, 0xc3};
  uint8_t* across = pages + kPage - 3;
  memcpy(across, one, sizeof(one));
  memcpy(pages + 16, two, sizeof(two));
  ASSERT_EQ(mprotect(pages, 2 * kPage, PROT_READ | PROT_EXEC), 0);
  const auto call = reinterpret_cast<int (*)()>(across);
  EXPECT_EQ(call(), 1);
  EXPECT_TRUE(write_jump(reinterpret_cast<uint64_t>(across), reinterpret_cast<uint64_t>(pages + 16)));
  EXPECT_EQ(call(), 2);
  munmap(pages, 2 * kPage);
}
#endif

TEST(CodeWriter, WhatIsNotThereIsNotWritten) {
  void* page = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_EQ(munmap(page, kPage), 0);
  const auto at = reinterpret_cast<uint64_t>(page);
  EXPECT_FALSE(write_jump(at, at + 100));
}

TEST(CodeWriter, SignalsAreBlockedMeanwhile) {
  sigset_t before;
  sigset_t inside;
  sigset_t after;
  sigprocmask(SIG_SETMASK, nullptr, &before);
  {
    const SignalsBlocked blocked;
    sigprocmask(SIG_SETMASK, nullptr, &inside);
  }
  sigprocmask(SIG_SETMASK, nullptr, &after);
  EXPECT_TRUE(sigismember(&inside, SIGUSR1));
  EXPECT_EQ(sigismember(&before, SIGUSR1), sigismember(&after, SIGUSR1));
}

}  // namespace
}  // namespace memprof::platform
