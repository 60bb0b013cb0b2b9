// SPDX-License-Identifier: Apache-2.0
// gzip in memory, both ways; unpacking is limited because a small file can ask for any amount of memory.
//
// Threads: no state.
// Failure: throws Error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "profile/model/error.h"

namespace memprof::profile {

bool is_gzip(std::string_view data);

// All members of a gzip file, one after the other.  `name` stands in messages.  `look` is called with each piece of
// what was packed as soon as it is there, and may throw: then no more is unpacked.
std::string gunzip(std::string_view data, const std::string& name, uint64_t max_bytes,
                   const std::function<void(std::string_view)>& look = {});

// The same bytes each time: no time stamp and no file name.
std::string gzip(std::string_view data);

}  // namespace memprof::profile
