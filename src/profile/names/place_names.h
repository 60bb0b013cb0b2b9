// SPDX-License-Identifier: Apache-2.0
// Names of code that has none, in files for other readers: `libc.so.6+0x1234`, a function for each such location.
//
// Model: some readers (Pyroscope) leave out frames without functions, and with them stacks that have no others.  memprof
// reads such a location as one without a name again, so that its rules for what has none hold.
//
// Threads: plain values.
#pragma once

#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// By location; with an empty name where it has one.
std::vector<Function> place_functions(const Profile& profile);

// Takes them out of a profile that memprof wrote, and their functions where these are the last ones.
void drop_place_names(Profile* profile);

}  // namespace memprof::profile
