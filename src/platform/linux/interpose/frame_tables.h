// SPDX-License-Identifier: Apache-2.0
// The functions by which code that is made at run time registers its unwind tables (libgcc's __register_frame
// family), as hooks: what they are told, the walk knows, too (unwind/tables/registered.h).
//
// Model: a hook notes what is registered or no longer so, and jumps to the function that its caller would
// have called without us: the next one in the process's scope, or that of the caller's own libraries (a wheel
// with LLVM in it brings libgcc_s to its own scope only).  Where import tables are patched, the one that the
// slot held.  libgcc's functions call each other through its own import table, so that one registration
// passes several hooks; only the first finds anything to do.
//
// Lock order: the first call from a place asks the loader, which takes its lock.
// Threads: any.  Signals: none, as the real functions.
// Failure: where nobody has the real function (the program has a weak reference to it), nothing is called.
#pragma once

#include <cstdint>

namespace memprof::interpose {

// In this order in hook_table.cc.
enum class FrameCall : uint8_t {
  kRegister,
  kRegisterInfo,
  kRegisterInfoBases,
  kRegisterTable,
  kRegisterInfoTable,
  kRegisterInfoTableBases,
  kDeregister,
  kDeregisterInfo,
  kDeregisterInfoBases,
};
inline constexpr uint32_t kFrameCalls = 9;

// Where import tables are patched: what the hook goes on to from now on; 0: nobody has it.
void set_frame_call(uint32_t call, uint64_t address);

}  // namespace memprof::interpose
