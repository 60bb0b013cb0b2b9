// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/stop_signals.h"

#include <cmath>
#include <ctime>
#include <initializer_list>

namespace memprof::cli {

StopSignals::StopSignals() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

StopSignals::~StopSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool StopSignals::wait(double seconds) {
  constexpr double kSecondNs = 1e9;
  timespec time{};
  if (seconds > 0) {
    time.tv_sec = static_cast<time_t>(seconds);
    time.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * kSecondNs);
  }
  return sigtimedwait(&signals_, nullptr, &time) > 0;
}

}  // namespace memprof::cli
