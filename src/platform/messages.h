// SPDX-License-Identifier: Apache-2.0
// What the library says on standard error, and the signals by which it is asked for something.  Must not be
// called from a hook.
//
// What holds for all services of the system: README.md.
#pragma once

namespace memprof::platform {

// One line to standard error: "memprof: " and the parts (nullptr-terminated), and a newline, in one write.
// What controls a terminal is replaced.
// Nowhere in a sandbox, and where descriptor 2 is not what it was when this library was loaded: it may be a file of the
// program's then.
void message(const char* const* parts);
// It is what it is now.  For tests, which put another file there.
void remember_standard_error();
// The library was loaded into a program that had begun long before (memprof attach): lines go to a terminal or another
// device, or where standard output goes, too; nowhere else.
void doubt_standard_error();

// Calls `handler` in a signal handler whenever the signal comes: "USR2", "SIGUSR2", "RTMIN+3", "12". Replaces
// what was there.  false: there is no such signal, or it cannot be caught.
bool on_signal(const char* name, void (*handler)());
// What the program has done with that signal since.
enum class SignalUse { kOurs, kDefault, kIgnored, kPrograms };
SignalUse signal_use();

}  // namespace memprof::platform
