// SPDX-License-Identifier: Apache-2.0
// A look that is taken because the memory of a group gets short: what its profile says of that, and what a line does.
//
// Threads: no state.
#pragma once

#include <string>

#include "format/profile_facts.h"
#include "memprof/pressure/pressure_watch.h"

namespace memprof::cli {

// The mark or the stall that the look is taken for, and the figures then.
void note_pressure(const Pressure& pressure, profile::ProfileFacts* facts);

// "uses 190.3 MiB of the 200.0 MiB that it may have (95 %)", or "waited for memory in 23 % of the last 10 s".
std::string pressure_text(const Pressure& pressure);

// "; its processes waited for memory in 12.3 % of the last 10 s, all at once in 4.0 %".  "": not known, next to nothing, or
// said by pressure_text().
std::string stall_text(const Pressure& pressure);

}  // namespace memprof::cli
