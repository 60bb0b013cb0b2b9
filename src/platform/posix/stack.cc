// SPDX-License-Identifier: Apache-2.0
// What POSIX says of the calling thread's stack (platform/stack.h).
#include "platform/stack.h"

#include <signal.h>

namespace memprof::platform {

bool is_on_signal_stack() {
  stack_t stack{};
  return sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) != 0;
}

}  // namespace memprof::platform
