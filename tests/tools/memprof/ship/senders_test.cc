// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/senders.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "memprof/ship/shipper.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

constexpr int64_t kHourMs = 3'600'000;

class SendersTest : public testing::Test {
 protected:
  SendersTest() {
    for (const char* name : {"a", "b"}) std::filesystem::create_directory(folder / name);
  }

  QueuedLook commit(Spool& spool) {
    Look look;
    look.time_ms = time_now_ms();
    look.labels = {{"service_name", "s"}};
    look.allocated = {1, 10};
    look.pprof = "profile";
    return spool.commit("l", {}, std::move(look));
  }

  size_t files_in(const std::string& name) {
    size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / name)) {
      if (entry.is_regular_file()) ++files;
    }
    return files;
  }

  testing_tools::Folder folder;
};

TEST_F(SendersTest, ALookIsRemovedWhenAllTargetsHaveIt) {
  Spool spool(folder / "spool", 1 << 20);
  Senders senders({folder / "a", folder / "b"}, {}, kHourMs, spool);
  senders.add(commit(spool));
  senders.add(commit(spool));
  EXPECT_NE(spool.bytes(), 0U);
  senders.start();
  EXPECT_EQ(senders.finish(60), 0U);
  EXPECT_EQ(spool.bytes(), 0U);
  EXPECT_EQ(files_in("a"), 2U);
  EXPECT_EQ(files_in("b"), 2U);
  for (const TargetFigures& target : senders.figures()) {
    EXPECT_EQ(target.counts.accepted_bytes, 20);
    EXPECT_EQ(target.problem, "");
  }
}

TEST_F(SendersTest, WhatWaitedGoesToANewTarget) {
  {
    Spool spool(folder / "spool", 1 << 20);
    commit(spool);
  }
  Spool spool(folder / "spool", 1 << 20);
  Senders senders({folder / "a"}, {}, kHourMs, spool);
  senders.start();
  EXPECT_EQ(senders.finish(60), 0U);
  EXPECT_EQ(files_in("a"), 1U);
}

TEST_F(SendersTest, ATargetThatIsAwayIsSaidAndItsLooksWait) {
  Spool spool(folder / "spool", 1 << 20);
  std::string said;
  Senders senders({folder / "a"}, {}, kHourMs, spool, [&](const std::string& line) { said = line; });
  std::filesystem::remove(folder / "a");
  senders.add(commit(spool));
  senders.start();
  while (senders.figures()[0].problem.empty()) usleep(1000);
  EXPECT_EQ(senders.finish(0), 1U);
  EXPECT_NE(said.find("it is tried again, 1 look waits"), std::string::npos) << said;
}

TEST_F(SendersTest, OneTargetTwiceIsRefusedByItsOption) {
  Spool spool(folder / "spool", 1 << 20);
  TargetOptions network;
  network.option = "--ship";
  try {
    Senders({folder / "a", folder / "a/"}, network, kHourMs, spool);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("--ship: "), std::string::npos) << failure.what();
  }
}

}  // namespace
}  // namespace memprof::cli
