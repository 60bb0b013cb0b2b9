// SPDX-License-Identifier: Apache-2.0
// on_signal of the seam (platform/messages.h), and what signal_use of a system needs to know of it.
//
// Threads: any.
#pragma once

#include "platform/messages.h"

namespace memprof::platform {

// The signal that on_signal was last asked for; 0: none.
int asked_signal();
// Whose handler this is.
SignalUse use_of(void (*handler)(int));

}  // namespace memprof::platform
