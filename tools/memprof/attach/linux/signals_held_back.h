// SPDX-License-Identifier: Apache-2.0
// A signal to this command waits until the process that it works on is as it was.
//
// Threads: the calling one.
#pragma once

#include <signal.h>

namespace memprof::cli {

class SignalsHeldBack {
 public:
  SignalsHeldBack() {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsHeldBack() { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace memprof::cli
