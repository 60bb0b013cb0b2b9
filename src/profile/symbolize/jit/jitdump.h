// SPDX-License-Identifier: Apache-2.0
// Names and lines of JIT code from a jitdump file (jit-PID.dump), as `perf inject --jit` reads it: written by
// node --perf-prof, Java agents, V8, LLVM's JIT, wasmtime ...
//
// Model: a header and records.  A record loads code, moves code, or gives the lines of the code that the next
// record loads.  The last record that covers an address wins, because the stacks of a profile have no times.
// It says which code was there at the end.
//
// Threads: no state.
// Memory: in proportion to the addresses and to the number of functions; the code in the file is not read.
// Failure: reading stops where the file is cut off or is not what it says (a program that was killed leaves
// such a file), with what was found until then.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "profile/symbolize/jit/jit_frame.h"

namespace memprof::profile {

// Whether the data begins as a jitdump of this machine's byte order does.
bool is_jitdump(std::string_view data);

// `addresses` in ascending order.
std::vector<JitFrame> read_jitdump(std::string_view data, const std::vector<uint64_t>& addresses);

}  // namespace memprof::profile
