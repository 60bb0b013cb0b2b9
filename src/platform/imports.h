// SPDX-License-Identifier: Apache-2.0
// The slots of allocation functions in the import tables of the loaded modules, where hooks get into a
// running process.  These functions take the loader's lock, so unless one says otherwise they must not be
// called from a hook.
//
// What holds for all services of the system: README.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {
struct LatePatchRequest;
}

namespace memprof::platform {

// The slots of allocation functions in the import tables of the loaded modules, where hooks get into a
// running process by them.
struct Imports {
  uint64_t modules;    // modules with such slots
  uint64_t patched;    // slots that lead to the hooks
  uint64_t refused;    // the system did not let them be written
  uint64_t foreign;    // they lead to another allocator than the process's, and stay
  uint64_t unbound;    // not bound yet, and not known to what they would be; looked at again
  uint64_t taken;      // that another tool has written to since, each time that it did
  uint64_t unseen_ns;  // for so long, at most, some of these led past the hooks
};

// Points them at the hooks: of all modules that are loaded now; those that are loaded later follow.  A second
// call looks again.  false: no slot could be had (an allocator inside the executable, no dynamic loader).
bool patch_imports();

// The same, but it does not wait for threads that are just binding slots: the caller does before it calls
// patch_imports(), and so before anything is recorded.
bool prepare_imports();

// Looks again at slots that the dynamic loader may have bound after they were pointed at the hooks, if it is
// time for that.  May be called from a hook.  `now_ns`: monotonic.
void watch_imports(uint64_t now_ns);

// Looks at the slots that were pointed at the hooks. Those that hold the real function, because another tool has put that
// back, are pointed there again; what another tool's function is in stays. watch_imports() does the same with those
// of modules that the process began with.
void recheck_imports();

// A function of the allocator that malloc's hooks go on to; 0: there are no hooks.  May be called from a hook.
uint64_t allocator_behind_hooks();

// Prepares hooks of allocators inside modules for a tracer, which writes them while it has all threads stopped
// (format/allocators/late_patches.h).  false: the request is another version's.
bool prepare_late_hooks(LatePatchRequest* request);

// As of the last time that they were looked at.
Imports imports();

// A line for each module that has slots which do not lead to the hooks: "path: refused 1, foreign 0, unbound
// 2".  Writes at most `size_bytes` with a NUL at the end; returns the length of the whole text.
size_t describe_imports(char* text, size_t size_bytes);

// The same as it was when they were last looked at, maybe cut; in static memory.  May be called from a hook.
const char* imports_note();

}  // namespace memprof::platform
