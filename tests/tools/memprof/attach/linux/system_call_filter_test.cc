// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/system_call_filter.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstddef>

#include "memprof/attach/linux/library_calls.h"
#include "memprof/attach/linux/processor/processor.h"

namespace memprof::cli {
namespace {

using Filter = std::vector<sock_filter>;

seccomp_data call(long number, uint64_t first = 0) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  data.arch = processor::audit_architecture();
  data.args[0] = first;
  return data;
}

// One call has a result, all others are allowed.
Filter one(long number, uint32_t result) {
  return {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1),
          BPF_STMT(BPF_RET | BPF_K, result), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
}

TEST(SystemCallFilter, Jumps) {
  const Filter filter = one(SYS_madvise, SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(filter_result(filter, call(SYS_madvise)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(filter_result(filter, call(SYS_read)), SECCOMP_RET_ALLOW);
}

TEST(SystemCallFilter, Calculates) {
  // The low half of the first argument, plus 3, times 2; by way of X and of memory.
  const Filter filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)),
                         BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 3),
                         BPF_STMT(BPF_ST, 2),
                         BPF_STMT(BPF_LD | BPF_IMM, 2),
                         BPF_STMT(BPF_MISC | BPF_TAX, 0),
                         BPF_STMT(BPF_LD | BPF_MEM, 2),
                         BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0),
                         BPF_STMT(BPF_RET | BPF_A, 0)};
  EXPECT_EQ(filter_result(filter, call(0, 20)), 46u);
}

TEST(SystemCallFilter, BrokenOnesKill) {
  EXPECT_EQ(filter_result({}, call(0)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(filter_result({BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4096)}, call(0)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(filter_result({BPF_STMT(BPF_JMP | BPF_JA, 100)}, call(0)), SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(filter_result({BPF_STMT(BPF_ST, 16)}, call(0)), SECCOMP_RET_KILL_PROCESS);
}

TEST(SystemCallFilter, EveryCallAndEveryAnswer) {
  for (const LibraryCall& each : kLibraryCalls) {
    for (const uint32_t answer : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD, SECCOMP_RET_TRAP,
                                  SECCOMP_RET_ERRNO | 1, SECCOMP_RET_TRACE, SECCOMP_RET_USER_NOTIF}) {
      const std::string altered = altered_call(one(each.number, answer));
      EXPECT_EQ(altered.substr(altered.rfind(' ') + 1), each.name);
    }
    EXPECT_EQ(altered_call(one(each.number, SECCOMP_RET_ALLOW)), "");
    EXPECT_EQ(altered_call(one(each.number, SECCOMP_RET_LOG)), "");
  }
  EXPECT_EQ(altered_call(one(SYS_madvise, SECCOMP_RET_KILL_THREAD)), "ends it for madvise");
  EXPECT_EQ(altered_call(one(SYS_madvise, SECCOMP_RET_ERRNO | 1)), "refuses madvise");
  EXPECT_EQ(altered_call(one(SYS_getrusage, SECCOMP_RET_TRAP)), "raises SIGSYS for getrusage");
  // What memprof does not call does not matter.
  EXPECT_EQ(altered_call(one(SYS_reboot, SECCOMP_RET_KILL_PROCESS)), "");
}

TEST(SystemCallFilter, WhatMuslAsksBesides) {
  const Filter filter = one(SYS_membarrier, SECCOMP_RET_KILL_PROCESS);
  EXPECT_EQ(altered_call(filter), "");
  EXPECT_EQ(altered_call(filter, true), "ends it for membarrier");
  EXPECT_EQ(altered_call(one(SYS_membarrier, SECCOMP_RET_ALLOW), true), "");
}

TEST(SystemCallFilter, WhatACallIsAskedFor) {
  // mprotect to PROT_READ | PROT_EXEC, as of code that is patched.
  const Filter filter = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                         BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
                         BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
                         BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                         BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  EXPECT_EQ(altered_call(filter), "ends it for mprotect");
}

}  // namespace
}  // namespace memprof::cli
