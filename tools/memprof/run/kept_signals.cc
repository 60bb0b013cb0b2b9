// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/kept_signals.h"

namespace memprof::cli {

KeptSignals::KeptSignals() : before_{} {
  for (int signal = 1; signal < kSignals; ++signal) sigaction(signal, nullptr, &before_[signal]);
}

KeptSignals::~KeptSignals() {
  for (int signal = 1; signal < kSignals; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) sigaction(signal, &before_[signal], nullptr);
  }
}

}  // namespace memprof::cli
