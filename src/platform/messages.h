// SPDX-License-Identifier: Apache-2.0
// What the library says on standard error, and the signals by which it is asked for something.  Must not be
// called from a hook.
//
// What holds for all services of the system: README.md.
#pragma once

namespace memprof::platform {

// One line to standard error: "memprof: " and the parts (nullptr-terminated), and a newline, in one write.
// What controls a terminal is replaced.
void message(const char* const* parts);

// Calls `handler` in a signal handler whenever the signal comes: "USR2", "SIGUSR2", "RTMIN+3", "12". Replaces
// what was there.  false: there is no such signal, or it cannot be caught.
bool on_signal(const char* name, void (*handler)());
// What the program has done with that signal since.
enum class SignalUse { kOurs, kDefault, kIgnored, kPrograms };
SignalUse signal_use();

}  // namespace memprof::platform
