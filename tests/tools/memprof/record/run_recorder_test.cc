// SPDX-License-Identifier: Apache-2.0
// Runs are recorded in tests/e2e/series_test.py.
#include "memprof/record/run_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

TEST(RunRecorder, SaysWhyThereIsNothing) {
  const testing_tools::Folder folder;
  RunRecorder nowhere("", 1, folder / "x.series", {}, "server", 42);
  nowhere.start();
  EXPECT_THAT(nowhere.finish(), HasSubstr("nothing was recorded: there is no folder for shared files"));
  RunRecorder brief(folder.path(), 1, folder / "x.series", {}, "server", 42);
  brief.start();
  EXPECT_THAT(brief.finish(), HasSubstr("no look was taken"));
  EXPECT_EQ(folder.list(), "");
}

}  // namespace
}  // namespace memprof::cli
