// SPDX-License-Identifier: Apache-2.0
// Writes to code that nobody runs meanwhile.
//
// Threads: one at a time.
// Allocates: never.
#pragma once

#include <signal.h>

#include <cstdint>

#include "platform/code/relocation.h"

namespace memprof::platform {

// No handler of the calling thread's may run code that is half written.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// The bytes of a jump from `at` to `target`, which is less than 2 GiB away.
void encode_jump(uint64_t at, uint64_t target, uint8_t (&jump)[kJumpBytes]);

// A jump of kJumpBytes to `target`, which is less than 2 GiB away.  false: the system does not let code be changed.
bool write_jump(uint64_t at, uint64_t target);

}  // namespace memprof::platform
