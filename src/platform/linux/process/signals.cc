// SPDX-License-Identifier: Apache-2.0
// signal_use of the seam (platform/messages.h).
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "platform/posix/signals.h"

namespace memprof::platform {

// Asked in a hook, so without libc's function.
SignalUse signal_use() {
  // The kernel's own form, which begins with the handler on every architecture.
  struct {
    void (*handler)(int);
    uint64_t rest[7];
  } now{};
  constexpr size_t kKernelSetBytes = 8;
  const int signal = asked_signal();
  const bool is_known = signal != 0 && syscall(SYS_rt_sigaction, signal, nullptr, &now, kKernelSetBytes) == 0;
  return is_known ? use_of(now.handler) : SignalUse::kOurs;
}

}  // namespace memprof::platform
