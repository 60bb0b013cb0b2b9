// SPDX-License-Identifier: Apache-2.0
// What memprof does with signals, as it was before a program ran (child_process.h changes it): for a command that
// runs several, so that each has what the first one had.
//
// Threads: in a program with one thread.
#pragma once

#include <csignal>

namespace memprof::cli {

class KeptSignals {
 public:
  KeptSignals();
  ~KeptSignals();
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;

 private:
  static constexpr int kSignals = 32;  // those with names
  struct sigaction before_[kSignals];
};

}  // namespace memprof::cli
