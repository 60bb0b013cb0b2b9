// SPDX-License-Identifier: Apache-2.0
// Names of JIT code from /tmp/perf-PID.map: lines of `START SIZE NAME`, numbers in hexadecimal, written by
// node --perf-basic-prof, Java agents, .NET, LuaJIT ...
//
// Model: code moves, memory is reused, and the file only grows.  The last line that covers an address wins: it
// is the code that was there at the end.  Lines have no times, so nothing better is possible.
//
// Threads: no state.
// Memory: in proportion to the addresses; the text is read once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/symbolize/jit/jit_frame.h"

namespace memprof::profile {

// `addresses` in ascending order.  Lines that are not of this form are left out.
std::vector<JitFrame> read_perf_map(std::string_view text, const std::vector<uint64_t>& addresses);

// V8 says `JS:*name file:12:5` (up to node 18 `LazyCompile:*name file:12`), by tier of its compilers and once
// more for each: one function, `name` in `file`.  Other names as they are.
JitFrame frame_of_jit_name(std::string_view name);

}  // namespace memprof::profile
