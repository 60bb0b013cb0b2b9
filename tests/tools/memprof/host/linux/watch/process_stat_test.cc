// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/process_stat.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

constexpr char kBehindName[] =
    " S 7 1 1 0 -1 4194560 84 0 0 0 0 0 0 0 20 0 1 0 5678 2469888 128 18446744073709551615 4096 24576 99 0 0 0 0\n";

TEST(ProcessStat, ANameMayHaveAnythingInIt) {
  ProcessStat stat;
  ASSERT_TRUE(stat.parse(12, "12 (a) S 1 (b) c)" + std::string(kBehindName)));
  EXPECT_EQ(stat.pid, 12u);
  EXPECT_EQ(stat.name, "a) S 1 (b) c");
  EXPECT_EQ(stat.state, 'S');
  EXPECT_EQ(stat.parent, 7u);
  EXPECT_EQ(stat.start, 5678u);
  EXPECT_EQ(stat.code_bytes, 20480u);
  EXPECT_EQ(stat.stack_start, 99u);
  EXPECT_TRUE(stat.has_memory());
}

TEST(ProcessStat, WhatIsCutIsNone) {
  ProcessStat stat;
  EXPECT_FALSE(stat.parse(12, ""));
  EXPECT_FALSE(stat.parse(12, "12 (cat"));
  EXPECT_FALSE(stat.parse(12, "12 (cat) S 7 1"));
}

TEST(ProcessStat, AnotherProgramIsSeen) {
  ProcessStat before;
  ASSERT_TRUE(before.read(static_cast<uint64_t>(getpid())));
  EXPECT_EQ(before.parent, static_cast<uint64_t>(getppid()));
  ProcessStat now;
  ASSERT_TRUE(now.read(static_cast<uint64_t>(getpid())));
  EXPECT_TRUE(now.has_program_of(before));
  now.code_bytes += 4096;
  EXPECT_FALSE(now.has_program_of(before));
}

TEST(ProcessStat, OfNobodyThereIsNone) {
  ProcessStat stat;
  EXPECT_FALSE(stat.read(uint64_t{1} << 31));
}

}  // namespace
}  // namespace memprof::cli
