// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/haste.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

namespace memprof::cli {
namespace {

SchedulerSettings now() {
  SchedulerSettings settings;
  EXPECT_TRUE(read_scheduler(&settings));
  return settings;
}

TEST(Haste, EndsAsItBegan) {
  const SchedulerSettings before = now();
  {
    Haste haste;
    EXPECT_EQ(now().policy, before.policy);
    EXPECT_LE(now().nice, before.nice);
    haste.more();
    EXPECT_TRUE(now().policy == SCHED_RR || now().policy == before.policy);
  }
  EXPECT_EQ(now().policy, before.policy);
  EXPECT_EQ(now().nice, before.nice);
  EXPECT_EQ(now().runtime_ns, before.runtime_ns);
}

TEST(Haste, WhoMayIsBeforeAllOthersWhileAThreadMakesCalls) {
  sched_param first{};
  first.sched_priority = 1;
  if (sched_setscheduler(0, SCHED_RR, &first) != 0) GTEST_SKIP() << "not allowed here";
  const sched_param ordinary{};
  ASSERT_EQ(sched_setscheduler(0, SCHED_OTHER, &ordinary), 0);
  Haste haste;
  haste.more();
  EXPECT_EQ(now().policy, static_cast<uint32_t>(SCHED_RR));
}

TEST(Haste, AnOwnPriorityIsLeftAlone) {
  const sched_param none{};
  ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
  {
    Haste haste;
    haste.more();
    EXPECT_EQ(now().policy, static_cast<uint32_t>(SCHED_BATCH));
  }
  ASSERT_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);
}

}  // namespace
}  // namespace memprof::cli
