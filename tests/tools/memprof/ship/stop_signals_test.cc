// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/stop_signals.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(StopSignals, EndAWait) {
  StopSignals signals;
  EXPECT_FALSE(signals.wait(0.001));
  EXPECT_FALSE(signals.wait(-1));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    raise(signal);
    EXPECT_TRUE(signals.wait(60));
  }
}

}  // namespace
}  // namespace memprof::cli
