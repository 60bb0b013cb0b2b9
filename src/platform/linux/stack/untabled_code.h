// SPDX-License-Identifier: Apache-2.0
// Code without unwind tables, where the C library itself has none: musl is built without, and so are programs for it that
// C compilers link.
//
// Threads, signals: any.
// Allocates: never.
#pragma once

#include <cstdint>

#include "unwind/tables/rule.h"

namespace memprof::platform {

// For unwind::Surroundings.
bool find_untabled_rule(uint64_t address, unwind::Rule* rule);
bool is_untabled_signal_return(uint64_t address);

}  // namespace memprof::platform
