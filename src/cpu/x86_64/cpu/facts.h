// SPDX-License-Identifier: Apache-2.0
// What a processor is like, for those who decide by it.  Each folder of src/cpu answers the same questions.
#pragma once

// Must the caller of a hook be found by the tables of our own code (unwind/walk/table_walk.h), because its stack pointer is not
// known from the hook's frame record?
#define MEMPROF_CPU_FINDS_CALLER_BY_TABLES 0

namespace memprof::cpu {

// Does it keep the order of a thread's loads, and of its stores, for other threads?
inline constexpr bool kKeepsOrder = true;
// Can code be moved, so that a jump takes its place (platform/code/relocation.h)?
inline constexpr bool kMovesCode = true;
// Can code without unwind tables be left by what its instructions do (platform/code/code_rule.h)?
inline constexpr bool kFollowsCode = true;
// Is the trampoline of signals, which Linux's kernel brings, without an unwind table?
inline constexpr bool kHasBareTrampoline = false;
// Does a slot of an import table that is not bound yet hold code which binds it when it is called?
inline constexpr bool kCallsUnboundSlots = true;
// The version that the first glibc for it has.
inline constexpr char kFirstGlibc[] = "GLIBC_2.2.5";

}  // namespace memprof::cpu
