// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/recent_processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memprof/host/process/process_ids.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RecentProcessesTest : public ::testing::Test {
 protected:
  void last_is(uint64_t id) {
    testing_tools::write_file(file_, "0.00 0.01 0.05 1/123 " + std::to_string(id) + "\n");
  }

  const testing_tools::Folder folder_;
  const std::string file_ = folder_ / "loadavg";
  std::vector<uint64_t> ids_;
};

TEST_F(RecentProcessesTest, AreThoseSinceTheLastLook) {
  last_is(102);
  RecentProcesses recent(100, file_.c_str());
  EXPECT_TRUE(recent.take(&ids_));
  EXPECT_THAT(ids_, ElementsAre(101, 102)) << "what came after the process that was made";
  ids_.clear();
  last_is(105);
  EXPECT_TRUE(recent.take(&ids_));
  EXPECT_THAT(ids_, ElementsAre(103, 104, 105));
  ids_.clear();
  EXPECT_TRUE(recent.take(&ids_));
  EXPECT_THAT(ids_, IsEmpty());
}

TEST_F(RecentProcessesTest, WhereIdsBeginAgainOrAreManyAnyMayBeNew) {
  last_is(1000);
  RecentProcesses recent(1000, file_.c_str());
  last_is(400);
  EXPECT_FALSE(recent.take(&ids_));
  last_is(401);
  EXPECT_TRUE(recent.take(&ids_));
  EXPECT_THAT(ids_, ElementsAre(401));
  last_is(402 + RecentProcesses::kMaxIds);
  EXPECT_FALSE(recent.take(&ids_));
}

TEST_F(RecentProcessesTest, AFigureThatIsNotOfNowIsNotTaken) {
  last_is(99);
  RecentProcesses stale(100, file_.c_str());
  last_is(101);
  EXPECT_FALSE(stale.take(&ids_));
  RecentProcesses none(100, "/nowhere");
  EXPECT_FALSE(none.take(&ids_));
  testing_tools::write_file(file_, "");
  RecentProcesses empty(100, file_.c_str());
  EXPECT_FALSE(empty.take(&ids_));
}

TEST_F(RecentProcessesTest, AChildIsAmongThem) {
  RecentProcesses recent(own_process_id());
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const bool is_known = recent.take(&ids_);
  EXPECT_TRUE(is_process_id(static_cast<uint64_t>(child)));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(is_process_id(static_cast<uint64_t>(child)));
  if (!is_known) GTEST_SKIP() << "the kernel does not say here, or gave many ids meanwhile";
  EXPECT_THAT(ids_, Contains(static_cast<uint64_t>(child)));
}

}  // namespace
}  // namespace memprof::cli
