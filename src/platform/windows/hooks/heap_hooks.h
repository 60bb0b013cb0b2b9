// SPDX-License-Identifier: Apache-2.0
// Hooks of ntdll's heaps: RtlAllocateHeap, RtlReAllocateHeap, RtlFreeHeap, RtlDestroyHeap.
//
// All that allocates on Windows ends there but what calls VirtualAlloc: HeapAlloc, LocalAlloc, CoTaskMemAlloc, the C runtimes,
// also those that are linked into a program, and operator new.
//
// Threads: one at a time.
#pragma once

namespace memprof::platform {

// false: nothing is hooked, and a line on standard error says why.  A second call does nothing.
bool hook_heaps();
// Undoes it.  false: another program's hook stands on one of ours, which then stays.
bool unhook_heaps();
bool are_heaps_hooked();

}  // namespace memprof::platform
