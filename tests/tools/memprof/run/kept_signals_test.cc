// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/kept_signals.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using Handler = void (*)(int);

Handler handler_of(int signal) {
  struct sigaction action{};
  sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

TEST(KeptSignals, AreAsTheyWere) {
  const Handler pipe = handler_of(SIGPIPE);
  const Handler user = handler_of(SIGUSR1);
  {
    const KeptSignals kept;
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGUSR1, [](int) {});
    EXPECT_NE(handler_of(SIGUSR1), user);
  }
  EXPECT_EQ(handler_of(SIGPIPE), pipe);
  EXPECT_EQ(handler_of(SIGUSR1), user);
}

}  // namespace
}  // namespace memprof::cli
