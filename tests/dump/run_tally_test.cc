// SPDX-License-Identifier: Apache-2.0
#include "dump/run_tally.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "core/engine/profiler.h"
#include "format/files/run_tally.h"
#include "platform/files.h"
#include "platform/process.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::run_tally_test {
namespace {

using testing_support::in_child;
using testing_support::TemporaryFolder;

// A tally of run 7, as `memprof run` makes it.
RunTally* make_tally(const TemporaryFolder& folder) {
  const std::string path = folder.write(kRunTallyName, std::string(sizeof(RunTally), '\0'));
  auto* const tally = static_cast<RunTally*>(platform::file_map(path.c_str(), sizeof(RunTally)));
  if (tally != nullptr) {
    tally->magic = RunTally::kMagic;
    tally->run_token = 7;
    tally->pid_namespace = platform::process_namespace();
  }
  return tally;
}

TEST(JoinRun, CountsProcessesOfThisRun) {
  const TemporaryFolder folder;
  const RunTally* const tally = make_tally(folder);
  ASSERT_NE(nullptr, tally);
  const std::string here = folder.path("");
  in_child([&] {
    count_fork_child();         // it has joined none
    join_run(here.c_str(), 8);  // of another run
    join_run("", 7);            // there is no folder
    join_run((here + "x").c_str(), 7);
    join_run(std::string(5000, 'x').c_str(), 7);
    EXPECT_EQ(0u, tally->processes.load());
    join_run(here.c_str(), 7);
    join_run(here.c_str(), 7);  // as by a program that it executes
    EXPECT_EQ(1u, tally->processes.load());
    EXPECT_TRUE(tally->has(platform::process_id(), platform::process_start()));
    in_child([] { count_fork_child(); });
    EXPECT_EQ(2u, tally->processes.load());
  });
  EXPECT_EQ(2u, tally->processes.load());
}

TEST(JoinRun, LooksAtNothingInASandbox) {
  const TemporaryFolder folder;
  const RunTally* const tally = make_tally(folder);
  ASSERT_NE(nullptr, tally);
  in_child([&] {
    join_run(folder.path("").c_str(), 7);
    in_child([] {
      platform::set_sandboxed(true);
      count_fork_child();
      program_did_not_begin(begin_program("a"));
      program_was_spawned(7, 100, "b");
    });
  });
  EXPECT_EQ(1u, tally->processes.load());
  EXPECT_EQ(0u, tally->executing.load());
}

TEST(JoinRun, NotesNoProgramsWhereIdsMeanOthers) {
  const TemporaryFolder folder;
  RunTally* const tally = make_tally(folder);
  ASSERT_NE(nullptr, tally);
  tally->pid_namespace += 1;
  in_child([&] {
    join_run(folder.path("").c_str(), 7);
    EXPECT_EQ(0u, begin_program("a"));
    program_was_spawned(7, 100, "b");
  });
  EXPECT_EQ(1u, tally->processes.load());
  EXPECT_EQ(0u, tally->executing.load());
}

TEST(JoinRun, NotesProgramsThatAreExecuted) {
  const TemporaryFolder folder;
  const RunTally* const tally = make_tally(folder);
  ASSERT_NE(nullptr, tally);
  in_child([&] {
    EXPECT_EQ(0u, begin_program("a"));  // it has joined none
    program_was_spawned(7, 100, "b");
    EXPECT_EQ(0u, tally->executing.load());
    join_run(folder.path("").c_str(), 7);
    EXPECT_EQ(0u, begin_program(nullptr));
    EXPECT_EQ(0u, begin_program(reinterpret_cast<const char*>(8)));  // as exec, which fails with EFAULT
    program_was_spawned(7, 100, reinterpret_cast<const char*>(8));
    EXPECT_EQ(0u, tally->executing.load());
    const uint32_t begun = begin_program("a");
    EXPECT_EQ(platform::process_id(), begun);
    EXPECT_EQ(1u, tally->executing.load());
    program_did_not_begin(begun);
    EXPECT_EQ(0u, tally->executing.load());
    program_was_spawned(7, 100, "b");
    EXPECT_EQ(1u, tally->executing.load());
    in_child([&] {  // which, like a vfork child, did not count itself
      EXPECT_NE(begun, begin_program("a"));
      EXPECT_EQ(2u, tally->executing.load());
      join_run(folder.path("").c_str(), 7);
    });
  });
  EXPECT_EQ(1u, tally->executing.load());
  EXPECT_EQ(2u, tally->processes.load());
}

}  // namespace
}  // namespace memprof::run_tally_test
