// SPDX-License-Identifier: Apache-2.0
// What a program's file says before it is executed: may libmemprof.so be preloaded into it?  Of a script the file of its
// interpreter says it.
//
// Threads, signals, vfork children: may call it.  errno stays.  Stack: 4 KiB; on a signal
// stack without as much it says kHarmless.
// Allocates: never; opens the file, and closes it again.
// Failure: what cannot be read, or is broken, counts as a program that it may be preloaded into; in a sandbox nothing is
// read.
#pragma once

namespace memprof::platform {

enum class Preload {
  kHarmless,   // also where nothing is preloaded: a static program
  kOtherCode,  // for another processor, or of other word size: its loader complains
  kSibling,    // its loader cannot bind the library, but one for its C library (sibling_library.h)
  kOtherLibc,  // its loader is that of a C library which there is none for
  kSanitized,  // a sanitizer's malloc must be the first
};

// `path` as openat(2) takes it, in the folder `folder` (AT_FDCWD).  It need not be readable memory.
Preload preload_into(int folder, const char* path);
// The same of a file that is open.
Preload preload_into(int file);
// The same of who execvp(3) finds in PATH.
Preload preload_into_found(const char* file);

}  // namespace memprof::platform
