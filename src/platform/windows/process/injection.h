// SPDX-License-Identifier: Apache-2.0
// Loads this library into another process: by a thread there that calls LoadLibraryW, whose address is the same in all
// processes of a session.
//
// Threads: any.  Must not be called from a hook.
#pragma once

namespace memprof::platform {

// `process`: a handle with all rights, of a process that has not begun, or runs; returns when the library is loaded and has
// begun.  nullptr: it has; else why not.
const char* load_library_into(void* process);

}  // namespace memprof::platform
