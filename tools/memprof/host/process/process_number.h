// SPDX-License-Identifier: Apache-2.0
// Process ids as users write them.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

namespace memprof::cli {

// false: it is no process id.
bool parse_pid(const std::string& text, uint64_t* pid);

}  // namespace memprof::cli
