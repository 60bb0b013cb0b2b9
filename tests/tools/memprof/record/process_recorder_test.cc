// SPDX-License-Identifier: Apache-2.0
// Processes are recorded in tests/e2e/series_test.py.
#include "memprof/record/process_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "memprof/console/failure.h"
#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(ProcessRecorder, WhatCannotBeRecordedIsRefusedAtOnce) {
  const testing_tools::Folder folder;
  RunningProcess process;
  process.pid = static_cast<uint64_t>(getpid());
  process.arena = folder / "x.arena";
  testing_tools::write_file(process.arena, "no arena");
  RecordChoice choice;
  choice.pattern = folder / "x.%z.series";
  EXPECT_THROW(record_process(process, choice), Failure);
  choice.pattern = folder / "gone/x.series";
  EXPECT_THROW(record_process(process, choice), Failure);
  choice.pattern = folder / "x.series";
  EXPECT_THROW(record_process(process, choice), profile::Error);
  EXPECT_EQ(folder.list(), "x.arena ");
}

}  // namespace
}  // namespace memprof::cli
