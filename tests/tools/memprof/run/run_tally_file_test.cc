// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_tally_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "dump/run_tally.h"
#include "format/run_tally.h"
#include "platform/process.h"
#include "tests/support/engine.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using testing_tools::Folder;

TEST(RunTallyFile, HasWhoJoined) {
  const Folder folder;
  const RunTallyFile tally(folder / "", 7);
  EXPECT_EQ(tally.processes(), 0u);
  struct stat status{};
  ASSERT_EQ(stat((folder / kRunTallyName).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(status.st_size, static_cast<off_t>(sizeof(RunTally)));
  testing_support::in_child([&] {
    join_run((folder / "").c_str(), 8);  // of another run
    join_run("", 7);
    join_run((folder / "none").c_str(), 7);
    count_process();
    EXPECT_EQ(tally.processes(), 0u);
    join_run((folder / "").c_str(), 7);
    join_run((folder / "").c_str(), 7);
    EXPECT_EQ(tally.processes(), 1u);
    EXPECT_TRUE(tally.has(platform::process_id(), platform::process_start()));
    EXPECT_FALSE(tally.has(platform::process_id(), platform::process_start() + 1));
    testing_support::in_child([] { count_process(); });
    EXPECT_EQ(tally.processes(), 2u);
  });
  EXPECT_EQ(tally.processes(), 2u);
}

TEST(RunTallyFile, WhereThereCanBeNoneNobodyIsCounted) {
  const Folder folder;
  testing_tools::write_file(folder / kRunTallyName, "mine");
  const RunTallyFile there(folder / "", 7);
  EXPECT_EQ(there.processes(), 0u);
  EXPECT_FALSE(there.has(1, 1));
  EXPECT_EQ(std::filesystem::file_size(folder / kRunTallyName), 4u);
  EXPECT_EQ(RunTallyFile("", 7).processes(), 0u);
}

}  // namespace
}  // namespace memprof::cli
