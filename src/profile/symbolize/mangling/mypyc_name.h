// SPDX-License-Identifier: Apache-2.0
// Names of functions that mypyc compiled, as their source has them.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

// `build.State.parse` for `CPyDef_build___State___parse`; empty: mypyc did not compile it.
std::string mypyc_name(const std::string& symbol);

}  // namespace memprof::profile
