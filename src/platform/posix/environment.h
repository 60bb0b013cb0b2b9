// SPDX-License-Identifier: Apache-2.0
// The environment of a privileged process (platform/process.h).
#pragma once

namespace memprof::platform {

// Takes the MEMPROF_* variables out of the environment, as the loader does with LD_PRELOAD: a program that
// gains all rights of another user and starts a third one would hand them on to a process that cannot tell
// that they came from somebody else.  While the process has one thread.
void forget_environment();

}  // namespace memprof::platform
