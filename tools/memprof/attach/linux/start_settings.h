// SPDX-License-Identifier: Apache-2.0
// What a start of memprof in a running process asks of the library there, whichever way it gets there, and what stands
// in the way of it.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

#include "memprof/attach/attach.h"

namespace memprof::cli {

// A memprof_options, as bytes.
std::string library_options(const AttachOptions& options);

// MEMPROF_STATE_* of what was started there; uninitialized: nothing, or it cannot be read.
uint32_t state_there(uint64_t pid);

// Why memprof is not to be started there; "": it may.  `is_loaded`: as a library of its own.
std::string why_not_started(uint64_t pid, bool is_loaded, uint32_t state, const AttachOptions& options);
// What an error of memprof_init, memprof_set_rate or memprof_start there means.
std::string why_start_failed(uint64_t pid, int error);

std::string not_loaded(uint64_t pid);
inline constexpr char kNotAtWork[] = "memprof is not at work there";

}  // namespace memprof::cli
