// SPDX-License-Identifier: Apache-2.0
// Hooks of kernelbase's VirtualAlloc, VirtualFree, MapViewOfFile, UnmapViewOfFile, in all their forms: the program's own
// mappings are recorded where that is asked for (core/mappings/mappings.h).
//
// ntdll's heaps, its loader and the stacks of threads do not come there: they call ntdll's system calls.  What kernelbase calls
// for itself, and this library, is not recorded, and no memory of another process.
//
// Threads: one at a time.
#pragma once

namespace memprof::platform {

// false: nothing is hooked, and a line on standard error says why; it also says which form is left out.  A second call does
// nothing.
bool hook_mappings();
// The same where mappings are to be recorded; else nothing.
void hook_mappings_if_asked();
// Undoes it.  false: another program's hook stands on one of ours, which then stays.
bool unhook_mappings();

}  // namespace memprof::platform
