// SPDX-License-Identifier: Apache-2.0
// A hook of kernelbase's CreateProcessInternalW, which every way to start a program goes through: the library is loaded into
// the new process before its program begins.
#pragma once

namespace memprof::platform {

// Where it cannot be hooked, a line on standard error says why, and children run without the library.  Once.
void follow_children();

}  // namespace memprof::platform
