// SPDX-License-Identifier: Apache-2.0
// The view on a terminal is tried in tests/e2e/live_terminal_test.py, texts of real processes in live_test.py.
#include "memprof/live/live_session.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

// Before anything is drawn.
TEST(LiveSession, AFirstLookThatFailsIsAnError) {
  const testing_tools::Folder folder;
  RunningProcess process;
  process.pid = static_cast<uint64_t>(getpid());
  process.arena = folder / "gone.arena";
  LiveLooks looks({process}, false, AskServers::kNo);
  LiveOptions options;
  options.count = 1;
  EXPECT_THROW(print_live(options, looks), profile::Error);
  EXPECT_THROW(show_live(options, looks), profile::Error);
}

}  // namespace
}  // namespace memprof::cli
