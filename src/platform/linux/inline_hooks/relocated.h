// SPDX-License-Identifier: Apache-2.0
// Whether the dynamic loader has relocated a module that it has mapped.  Before that none of the module's code has run:
// not its constructors, not its resolvers, and nobody can have asked for its functions.
//
// Threads: the caller keeps the module from being unloaded.
// Allocates: never.
#pragma once

#include <link.h>

namespace memprof::platform {

// true also where the module does not tell (it has no words that are relocated by its address).
bool is_relocated(const dl_phdr_info& module);

}  // namespace memprof::platform
